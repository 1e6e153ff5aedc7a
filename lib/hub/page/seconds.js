// @ts-check
/**
 * How many events came in each of the last seconds, which is what the chart shows.
 *
 * @module
 */

/** What is known of the last seconds: as many as it was made for, the one that is running not among them. */
export class Seconds {
  #counts;
  #heard;
  /** The second that is running. */
  #now;
  /** How many seconds have passed since it was made, but no more than it holds. */
  #known = 0;

  /**
   * @param {number} length how many seconds it holds
   * @param {number} now the present second, since 1970
   */
  constructor(length, now) {
    this.#counts = new Uint32Array(length + 1);
    this.#heard = new Uint8Array(length + 1);
    this.#now = now;
  }

  /**
   * Notes that time has passed.
   *
   * @param {number} now the present second
   * @param {boolean} heard whether events could have come since the last call
   */
  advance(now, heard) {
    const passed = now - this.#now;
    // A clock that is set back stands still until it has caught up; one that jumps leaves nothing of what was.
    for (let i = Math.max(1, passed - this.#counts.length + 1); i <= passed; i++) {
      const at = this.#index(this.#now + i);
      this.#counts[at] = 0;
      this.#heard[at] = Number(heard);
    }
    if (passed > 0) {
      this.#known = Math.min(this.#known + passed, this.#counts.length - 1);
      this.#now = now;
    }
    if (heard) this.#heard[this.#index(this.#now)] = 1;
  }

  /**
   * Counts an event.
   *
   * @param {number} second when it came, or when it was published if it comes late
   */
  add(second) {
    if (second > this.#now || second <= this.#now - this.#counts.length) return;
    this.#counts[this.#index(second)]++;
  }

  /**
   * The seconds, the oldest first; those before the page was opened, or without a connection, are `undefined` unless events
   * of theirs have come since.
   *
   * @returns {(number | undefined)[]}
   */
  list() {
    const length = this.#counts.length - 1;
    return Array.from({ length }, (_, i) => {
      const at = this.#index(this.#now - length + i);
      return i >= length - this.#known && (this.#heard[at] === 1 || this.#counts[at] > 0)
        ? this.#counts[at]
        : undefined;
    });
  }

  /** @param {number} second */
  #index(second) {
    return second % this.#counts.length;
  }
}
