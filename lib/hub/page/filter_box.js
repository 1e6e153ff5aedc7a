// @ts-check
/// <reference lib="dom" />
/**
 * The box for the filter of the tail. What is typed is in force as soon as it is a filter; why it is none is said when the reader
 * has stopped typing.
 *
 * @module
 */
import { compileFilters } from "./filter.js";
import { part, setText } from "./parts.js";

/** How long somebody pauses who is done typing, in milliseconds. */
const PAUSE = 600;

const box = part("filter", HTMLInputElement);
const reason = part("filter-reason", HTMLElement);

/** The box. */
export class FilterBox {
  #changed;
  #inForce = "";
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {(wanted: (topic: string) => boolean, text: string) => void} changed is given each new filter */
  constructor(changed) {
    this.#changed = changed;
    box.addEventListener("input", () => this.#read());
    box.addEventListener("keydown", ({ key }) => {
      if (key === "Escape") this.set("");
    });
  }

  /**
   * Puts a filter into it.
   *
   * @param {string} text
   */
  set(text) {
    box.value = text;
    this.#read();
  }

  #read() {
    clearTimeout(this.#timer);
    const text = box.value.trim();
    try {
      const wanted = compileFilters(text);
      this.#say("");
      if (text === this.#inForce) return;
      this.#inForce = text;
      this.#changed(wanted, text);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const still = this.#inForce === "" ? "every event" : this.#inForce;
      this.#timer = setTimeout(() => this.#say(`${message}. Still showing ${still}.`), PAUSE);
    }
  }

  /** @param {string} text */
  #say(text) {
    setText(reason, text.slice(0, 1).toUpperCase() + text.slice(1));
    if (text === "") box.removeAttribute("aria-invalid");
    else box.setAttribute("aria-invalid", "true");
  }
}
