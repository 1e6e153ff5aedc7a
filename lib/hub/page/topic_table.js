// @ts-check
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * The table of topics: those that come first in the order that the reader has chosen. A topic in it filters the tail.
 *
 * @module
 */
import { made, part, setText } from "./parts.js";
import { ORDERS } from "./topics.js";
import { walkWithArrows } from "./walk.js";
import { agoText, countText, rateText, things } from "./words.js";

/** How many topics are shown, however many there are. */
const ROWS = 100;

const scroller = part("topics-scroller", HTMLElement);
const body = part("topics", HTMLTableSectionElement);
const note = part("topics-note", HTMLElement);
const empty = part("topics-empty", HTMLElement);

/** @typedef {import("./topics.js").Topics} Topics */
/** @typedef {import("./topics.js").Topic} Topic */
/** @typedef {{ row: HTMLTableRowElement, name: HTMLElement, rate: HTMLElement, count: HTMLElement, seen: HTMLElement }} Row */

/** The table. */
export class TopicTable {
  #topics;
  #order = "rate";
  /** The row of each topic that is shown, which moves with it. @type {Map<Topic, Row>} */
  #rows = new Map();
  /** @type {Topic[]} */
  #shown = [];

  /**
   * @param {Topics} topics what it shows
   * @param {(topic: string) => void} chosen is told which topic the reader has chosen
   */
  constructor(topics, chosen) {
    this.#topics = topics;
    body.addEventListener("click", ({ target }) => {
      const button = target instanceof Element ? target.closest("button") : null;
      if (button !== null) chosen(button.textContent ?? "");
    });
    for (const button of scroller.querySelectorAll("[data-order]")) {
      button.addEventListener("click", () => this.#sort(button.getAttribute("data-order") ?? ""));
    }
    walkWithArrows(scroller, "tbody button");
    this.#sort(this.#order);
  }

  /** Shows what is known by now. */
  draw() {
    // Rows that move away under the pointer, or under the focus, are hard to choose.
    const isHeld = body.matches(":hover") || body.contains(document.activeElement);
    if (!isHeld || this.#shown.length < ROWS) {
      const first = this.#topics.first(ROWS, ORDERS[this.#order]);
      this.#shown = isHeld ? [...this.#shown, ...first.filter((topic) => !this.#shown.includes(topic))] : first;
      this.#shown.length = Math.min(this.#shown.length, ROWS);
    }
    const { size, overflowed, window } = this.#topics;
    const highest = Math.max(1, ...this.#shown.map(({ recent }) => recent));
    const now = Date.now();
    this.#arrange();
    for (const [topic, row] of this.#rows) drawRow(row, topic, { now, window, highest });
    empty.hidden = size > 0;
    setText(note, noteOf(size, this.#shown.length, overflowed));
  }

  /** Has a row for each topic that is shown, in their order. Those that are needed no more are used again. */
  #arrange() {
    const old = this.#rows;
    this.#rows = new Map();
    const kept = new Set(this.#shown);
    const free = [...old].filter(([topic]) => !kept.has(topic)).map(([, row]) => row);
    for (const topic of this.#shown) this.#rows.set(topic, old.get(topic) ?? free.pop() ?? newRow());
    for (const { row } of free) row.remove();
    let at = 0;
    for (const { row } of this.#rows.values()) {
      if (body.rows[at] !== row) body.insertBefore(row, body.rows[at] ?? null);
      at++;
    }
  }

  /** @param {string} order */
  #sort(order) {
    this.#order = order;
    for (const button of scroller.querySelectorAll("[data-order]")) {
      const isChosen = button.getAttribute("data-order") === order;
      const direction = order === "topic" ? "ascending" : "descending";
      button.closest("th")?.setAttribute("aria-sort", isChosen ? direction : "none");
    }
    this.#shown = [];
    this.draw();
  }
}

/** @returns {Row} a row without a topic */
function newRow() {
  const row = made("tr");
  const header = made("th");
  header.scope = "row";
  const name = made("button", "topic");
  name.type = "button";
  name.tabIndex = -1;
  header.append(name);
  const [rate, count, seen] = ["number rate", "number", "number"].map((className) => made("td", className));
  row.append(header, rate, count, seen);
  return { row, name, rate, count, seen };
}

/**
 * @param {Row} row
 * @param {Topic} topic
 * @param {{ now: number, window: number, highest: number }} scale
 */
function drawRow({ row, name, rate, count, seen }, topic, { now, window, highest }) {
  setText(name, topic.name);
  if (name.title !== topic.name) name.title = topic.name;
  setText(rate, rateText(topic.recent / window));
  setText(count, countText(topic.count));
  setText(seen, agoText(now - topic.seen));
  row.classList.toggle("quiet", topic.recent === 0);
  row.style.setProperty("--share", (topic.recent / highest).toFixed(3));
}

/**
 * @param {number} size
 * @param {number} shown
 * @param {boolean} overflowed
 */
function noteOf(size, shown, overflowed) {
  if (overflowed) return `the ${countText(size)} seen last; ${shown} shown`;
  if (size > shown) return `${things(size, "topic")}; ${shown} shown`;
  return size === 0 ? "" : countText(size);
}
