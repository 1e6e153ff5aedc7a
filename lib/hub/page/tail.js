// @ts-check
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * The tail: the events that match the filter, the newest first. Whoever reads one, or walks through them, pauses it; what comes in
 * the meantime waits.
 *
 * @module
 */
import { beforeNextFrame, made, part, setText } from "./parts.js";
import { payloadInFull, payloadLine } from "./payload.js";
import { Ring } from "./ring.js";
import { walkWithArrows } from "./walk.js";
import { clockText, countText, millisecondsOf, sizeText } from "./words.js";

/** How many events are shown, and how many wait at most while it is paused. */
export const ROWS = 1000;
/** How many of the last events there is a choice from when the filter changes. */
const RECENT = 3000;
/** How long they may be in all. */
const CHARACTERS = 8_000_000;
/** How many rows are made for one frame, and how far apart such frames are: a flood leaves time for everything else. */
const ROWS_A_FRAME = 100;
const FRAMES_APART_MS = 100;

const scroller = part("tail-scroller", HTMLElement);
const list = part("tail", HTMLOListElement);
const empty = part("tail-empty", HTMLElement);
const state = part("tail-state", HTMLElement);
const said = part("tail-said", HTMLElement);
const pauseButton = part("pause", HTMLButtonElement);

/** @typedef {import("./ring.js").Received} Received */

/** The list of events. */
export class Tail {
  /** All that came last, whether it matches or not. */
  #recent = new Ring(RECENT, CHARACTERS);
  /** What matches and is to be shown. What has to go from here would have been out of the list again as soon as it was in. */
  #due = new Ring(ROWS, CHARACTERS);
  /** What matches and came while it was paused. */
  #waiting = new Ring(ROWS, CHARACTERS);
  /** What is shown, by its row. @type {Map<Element, Received>} */
  #shown = new Map();
  /** @type {(topic: string) => boolean} */
  #wanted = () => true;
  #came = 0;
  /** How many events had come when it was paused; `Infinity` if it is not. */
  #pausedAt = Infinity;
  /** How many of the waiting had to go. */
  #lost = 0;
  #draw = beforeNextFrame(() => this.#drawNow(), FRAMES_APART_MS);
  #chosen;

  /** @param {(topic: string) => void} chosen is told of a topic that the reader wants to see alone */
  constructor(chosen) {
    this.#chosen = chosen;
    list.addEventListener("click", ({ target }) => {
      const button = target instanceof Element ? target.closest("button.event") : null;
      if (button?.parentElement) this.#toggle(button.parentElement);
    });
    pauseButton.addEventListener("click", () => this.isPaused ? this.resume() : this.pause());
    walkWithArrows(scroller, "button.event", () => this.pause());
  }

  /** Whether new events wait. */
  get isPaused() {
    return this.#pausedAt !== Infinity;
  }

  /**
   * Takes an event.
   *
   * @param {{ topic: string, time: string, line: string }} event
   */
  add({ topic, time, line }) {
    const event = { order: this.#came++, topic, time, line };
    this.#recent.push(event);
    if (!this.#wanted(topic)) return;
    if (this.isPaused) this.#lost += this.#waiting.push(event);
    else this.#due.push(event);
    this.#draw();
  }

  /**
   * Shows only some events, of those that have come as well.
   *
   * @param {(topic: string) => boolean} wanted
   */
  filter(wanted) {
    this.#wanted = wanted;
    const known = new Set([
      ...this.#shown.values(),
      ...this.#due.list(),
      ...this.#waiting.list(),
      ...this.#recent.list(),
    ]);
    const matching = [...known].filter(({ topic }) => wanted(topic)).sort((a, b) => a.order - b.order);
    this.clear();
    for (const event of matching) (event.order < this.#pausedAt ? this.#due : this.#waiting).push(event);
    this.#draw();
  }

  /** Forgets what is shown, and what waits. */
  clear() {
    this.#due.clear();
    this.#waiting.clear();
    this.#lost = 0;
    this.#shown.clear();
    list.replaceChildren();
    this.#draw();
  }

  /** Lets new events wait. */
  pause() {
    if (this.isPaused) return;
    this.#pausedAt = this.#came;
    setText(pauseButton, "Resume");
    setText(said, "Paused");
    this.#draw();
  }

  /** Shows what has waited, and goes on. */
  resume() {
    for (const event of this.#waiting.list()) this.#due.push(event);
    this.#waiting.clear();
    this.#lost = 0;
    this.#pausedAt = Infinity;
    setText(pauseButton, "Pause");
    setText(said, "Resumed");
    this.#draw();
  }

  #drawNow() {
    const rows = document.createDocumentFragment();
    const now = Date.now();
    for (let left = ROWS_A_FRAME; left > 0 && this.#due.size > 0; left--) {
      const event = /** @type {Received} */ (this.#due.shift());
      const row = list.childElementCount + rows.childElementCount < ROWS ? newRow() : this.#oldestRow();
      fillRow(row, event, now);
      this.#shown.set(row, event);
      rows.prepend(row);
    }
    list.prepend(rows);
    if (this.#due.size > 0) this.#draw();
    empty.hidden = this.#shown.size > 0;
    setText(empty, this.#came === 0 ? "No events yet." : "No event matches so far.");
    setText(state, this.#stateText());
  }

  #stateText() {
    if (!this.isPaused) return "";
    const waiting = `Paused; ${countText(this.#waiting.size)} waiting`;
    if (this.#lost === 0) return `${waiting}. Up to ${countText(ROWS)} are kept.`;
    return `${waiting}, the latest; ${countText(this.#lost)} before them are gone.`;
  }

  /** Takes the oldest row out of the list, to be used again. */
  #oldestRow() {
    const row = /** @type {HTMLElement} */ (list.lastElementChild);
    // Focus that goes with its element would be at the start of the page.
    if (row.contains(document.activeElement)) scroller.focus({ preventScroll: true });
    this.#shown.delete(row);
    row.remove();
    close(row);
    return row;
  }

  /** @param {HTMLElement} row */
  #toggle(row) {
    const event = this.#shown.get(row);
    if (event === undefined) return;
    if (row.childElementCount > 1) return close(row);
    this.pause();
    row.append(this.#detail(event));
    row.firstElementChild?.setAttribute("aria-expanded", "true");
  }

  /** @param {Received} event */
  #detail({ topic, time, line }) {
    const { shown, whole, kind, size } = payloadInFull(line);
    const { at } = JSON.parse(line);
    const detail = made("div", "detail");
    const facts = made("dl");
    /** @type {[string, string][]} */
    const pairs = [["topic", topic], ["time", time], ["payload", `${kind}, ${sizeText(size)}`]];
    if (typeof at === "string") pairs.push(["id", at]);
    for (const [name, value] of pairs) {
      const pair = made("div");
      pair.append(made("dt", "", name), made("dd", "", value));
      facts.append(pair);
    }
    const actions = made("p", "actions");
    actions.append(button("Only this topic", () => this.#chosen(topic)));
    // A browser has a clipboard for pages that come safely only, which those from this machine do.
    if (navigator.clipboard) {
      const copy = button("Copy payload", async () => {
        await navigator.clipboard.writeText(whole).then(
          () => setText(copy, "Copied"),
          () => setText(copy, "Not copied"),
        );
      });
      actions.append(copy);
    }
    detail.append(facts, made("pre", "", shown), actions);
    return detail;
  }
}

/** A row without an event. */
function newRow() {
  const row = made("li");
  const button = made("button", "event");
  button.type = "button";
  button.tabIndex = -1;
  button.setAttribute("aria-expanded", "false");
  button.append(made("span", "time"), " ", made("span", "topic"), " ", made("span", "payload"));
  row.append(button);
  return row;
}

/**
 * @param {HTMLElement} row
 * @param {Received} event
 * @param {number} now
 */
function fillRow(row, { topic, time, line }, now) {
  const [timeCell, topicCell, payloadCell] = row.querySelectorAll(".event > span");
  setText(timeCell, clockText(millisecondsOf(time), now));
  setText(topicCell, topic);
  setText(payloadCell, payloadLine(line));
}

/** @param {HTMLElement} row */
function close(row) {
  row.querySelector(".detail")?.remove();
  row.firstElementChild?.setAttribute("aria-expanded", "false");
}

/**
 * @param {string} text
 * @param {() => void} pressed
 */
function button(text, pressed) {
  const element = made("button", "", text);
  element.type = "button";
  element.addEventListener("click", pressed);
  return element;
}
