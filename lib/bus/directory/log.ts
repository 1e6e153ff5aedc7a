/**
 * The names of events that have arrived and that some subscription has yet to read. Every subscription to a directory reads
 * the one log, from a position of its own.
 *
 * A subscription that is not read for a while keeps all that arrives in the log, so names are packed: on their own, each takes
 * more memory for being a string, and often for the path that it was cut from, than for its characters.
 *
 * @module
 */

/** How many names are packed together: enough to save what can be saved, and quickly unpacked. */
const PACK = 128;

/** What cannot stand in a name. */
const SEPARATOR = "/";

/** How many names the log holds before it looks whether any of them can go. */
const MIN_TRIM = 1024;

/** Somebody who reads the log. */
export interface LogReader {
  /** The position of the next name that it wants to look at; infinite if it has looked at all that concerns it. */
  readonly position: number;
}

/** Names in order of arrival. Positions count all that were ever pushed, and stay right when the log forgets its beginning. */
export class ArrivalLog {
  /** {@linkcode PACK} names each. */
  #packs: string[] = [];
  /** Those that follow, fewer than make a pack. */
  #rest: string[] = [];
  #first = 0;
  #trimAt = MIN_TRIM;
  /** The pack that was last looked into: most readers go from name to name. */
  #unpacked: { readonly index: number; readonly names: readonly string[] } | undefined;

  /** The position after the last name. */
  get end(): number {
    return this.#first + this.size;
  }

  /** How many names it holds. */
  get size(): number {
    return this.#packs.length * PACK + this.#rest.length;
  }

  /** Adds a name, and tells its position. */
  push(name: string): number {
    this.#rest.push(name);
    const position = this.end - 1;
    if (this.#rest.length === PACK) {
      this.#packs.push(this.#rest.join(SEPARATOR));
      this.#rest = [];
    }
    return position;
  }

  /** The name at a position that no reader has left behind. */
  at(position: number): string {
    const offset = position - this.#first;
    return this.#namesOf(Math.floor(offset / PACK))[offset % PACK];
  }

  /** The names from a position that no reader has left behind. */
  from(position: number): string[] {
    const names: string[] = [];
    for (let at = position; at < this.end; at++) names.push(this.at(at));
    return names;
  }

  /** Forgets what all readers have left behind; cheap enough, on average, to be called for each name. */
  trim(readers: Iterable<LogReader>): void {
    if (this.size < this.#trimAt) return;
    let least = this.end;
    for (const { position } of readers) least = Math.min(least, position);
    const packs = Math.floor((least - this.#first) / PACK);
    this.#packs = this.#packs.slice(packs);
    this.#first += packs * PACK;
    this.#unpacked = undefined;
    this.#trimAt = Math.max(MIN_TRIM, this.size * 2);
  }

  /** Forgets all: nobody reads. */
  clear(): void {
    this.#first = this.end;
    this.#packs = [];
    this.#rest = [];
    this.#unpacked = undefined;
    this.#trimAt = MIN_TRIM;
  }

  #namesOf(index: number): readonly string[] {
    if (index === this.#packs.length) return this.#rest;
    if (this.#unpacked?.index !== index) {
      this.#unpacked = { index, names: this.#packs[index].split(SEPARATOR) };
    }
    return this.#unpacked.names;
  }
}
