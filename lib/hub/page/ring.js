// @ts-check
/**
 * The latest events, as many as there is room for: however many come, and however large they are, the page stays small.
 *
 * @module
 */

/**
 * An event as the page keeps it.
 *
 * @typedef {object} Received
 * @property {number} order how many came before it
 * @property {string} topic
 * @property {string} time when it was published: ISO 8601, UTC
 * @property {string} line its envelope, as it came
 */

/** Events in the order in which they came, bounded by their number and by their size. The oldest make room. */
export class Ring {
  /** @type {Received[]} those before `#first` have been taken */
  #items = [];
  #first = 0;
  #characters = 0;
  #maxItems;
  #maxCharacters;

  /**
   * @param {number} maxItems how many it holds
   * @param {number} maxCharacters how long they are in all; one that is longer by itself is held alone
   */
  constructor(maxItems, maxCharacters) {
    this.#maxItems = maxItems;
    this.#maxCharacters = maxCharacters;
  }

  /** How many it holds. */
  get size() {
    return this.#items.length - this.#first;
  }

  /**
   * Adds an event.
   *
   * @param {Received} event
   * @returns {number} how many had to go for it
   */
  push(event) {
    this.#items.push(event);
    this.#characters += event.line.length;
    let gone = 0;
    while (this.size > this.#maxItems || (this.#characters > this.#maxCharacters && this.size > 1)) {
      this.shift();
      gone++;
    }
    return gone;
  }

  /**
   * Takes the oldest.
   *
   * @returns {Received | undefined}
   */
  shift() {
    if (this.size === 0) return undefined;
    const event = this.#items[this.#first++];
    this.#characters -= event.line.length;
    // What has been taken goes in large pieces, so that taking costs the same however many are held.
    if (this.#first > this.#maxItems || this.size === 0) {
      this.#items.splice(0, this.#first);
      this.#first = 0;
    }
    return event;
  }

  /** Lets go of all. */
  clear() {
    this.#items = [];
    this.#first = 0;
    this.#characters = 0;
  }

  /** @returns {Received[]} all, the oldest first */
  list() {
    return this.#items.slice(this.#first);
  }
}
