// @ts-check
/// <reference lib="dom" />
/**
 * The elements of the page, and the making of new ones. Text from events goes into them as text only.
 *
 * @module
 */

/**
 * The element with an id.
 *
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} type what it is
 * @returns {T}
 */
export function part(id, type) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`the page has no ${type.name} "${id}"`);
  return found;
}

/**
 * A new element.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {string} [className]
 * @param {string} [text]
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function made(name, className = "", text = "") {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  return element;
}

/**
 * Sets the text of an element where it is another: a browser lays out anew what has been set, even to what it was.
 *
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * A function that has another one called before the next frame is drawn, once however often it is called itself.
 *
 * @param {() => void} draw
 * @param {number} apart the least time between two calls, in milliseconds: a frame may take longer to draw than it lasts
 */
export function beforeNextFrame(draw, apart) {
  let isAsked = false;
  let drawn = -Infinity;
  return () => {
    if (isAsked) return;
    isAsked = true;
    const ask = () =>
      requestAnimationFrame((now) => {
        isAsked = false;
        drawn = now;
        draw();
      });
    const wait = drawn + apart - performance.now();
    if (wait > 0) setTimeout(ask, wait);
    else ask();
  };
}
