/**
 * The names of events that have arrived and that some subscription has yet to read. Every subscription to a directory reads
 * the one log, from a position of its own.
 *
 * @module
 */

/** How many names the log holds before it looks whether any of them can go. */
const MIN_TRIM = 1024;

/** Somebody who reads the log. */
export interface LogReader {
  /** The position of the next name that it wants to look at; infinite if it has looked at all that concerns it. */
  readonly position: number;
}

/** Names in order of arrival. Positions count all that were ever pushed, and stay right when the log forgets its beginning. */
export class ArrivalLog {
  #names: string[] = [];
  #first = 0;
  #trimAt = MIN_TRIM;

  /** The position after the last name. */
  get end(): number {
    return this.#first + this.#names.length;
  }

  /** How many names it holds. */
  get size(): number {
    return this.#names.length;
  }

  /** Adds a name, and tells its position. */
  push(name: string): number {
    return this.#first + this.#names.push(name) - 1;
  }

  /** The name at a position that no reader has left behind. */
  at(position: number): string {
    return this.#names[position - this.#first];
  }

  /** The names from a position that no reader has left behind. */
  from(position: number): string[] {
    return this.#names.slice(position - this.#first);
  }

  /** Forgets what all readers have left behind; cheap enough, on average, to be called for each name. */
  trim(readers: Iterable<LogReader>): void {
    if (this.size < this.#trimAt) return;
    let least = this.end;
    for (const { position } of readers) least = Math.min(least, position);
    this.#names = this.#names.slice(least - this.#first);
    this.#first = least;
    this.#trimAt = Math.max(MIN_TRIM, this.#names.length * 2);
  }

  /** Forgets all: nobody reads. */
  clear(): void {
    this.#first = this.end;
    this.#names = [];
    this.#trimAt = MIN_TRIM;
  }
}
