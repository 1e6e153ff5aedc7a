/**
 * A first-in, first-out queue. `Array.prototype.shift` moves all that is left, which a long queue cannot afford.
 *
 * @module
 */

/** What came first, leaves first; each step takes the same short time however many wait. */
export class Queue<Item> {
  #items: (Item | undefined)[] = [];
  #head = 0;

  /** How many wait. */
  get size(): number {
    return this.#items.length - this.#head;
  }

  /** The one that came last, if any. */
  get last(): Item | undefined {
    return this.size > 0 ? this.#items.at(-1) : undefined;
  }

  /** Puts one at the end. */
  push(item: Item): void {
    this.#items.push(item);
  }

  /** Takes the one that came first, if any. */
  shift(): Item | undefined {
    if (this.size === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    // Half of the array is spent: moving the rest now costs each item one move, on average.
    if (this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Drops all. */
  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}
