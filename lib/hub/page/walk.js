// @ts-check
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * Walking through a long list with the arrow keys: the list is one stop for the Tab key, not a thousand.
 *
 * @module
 */

/**
 * Makes the buttons in a list reachable by arrow keys.
 *
 * @param {HTMLElement} scroller what holds the list, and has the focus before one of its buttons has
 * @param {string} selector what finds the buttons; they have a `tabIndex` of -1
 * @param {() => void} [walked] is called when the reader walks
 */
export function walkWithArrows(scroller, selector, walked) {
  scroller.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const buttons = [...scroller.querySelectorAll(selector)];
    const at = buttons.findIndex((button) => button === document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined || (at < 0 && document.activeElement !== scroller)) return;
    event.preventDefault();
    const next = to < 0 ? scroller : buttons[Math.min(to, buttons.length - 1)];
    if (!(next instanceof HTMLElement)) return;
    if (next !== scroller) walked?.();
    next.focus();
  });
}
