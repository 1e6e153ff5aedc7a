/**
 * The subscriptions that share what comes by one feed, each found by the topics that it wants.
 *
 * @module
 */
import { filterCovers, FilterTree } from "../../filter.ts";

/**
 * Readers of what matches some filters.
 *
 * @typeParam Reader one of them
 */
export class Audience<Reader> implements Iterable<Reader> {
  /** What comes by the feed. */
  readonly filters: readonly string[];
  readonly #readers = new Set<Reader>();
  readonly #matching = new FilterTree<Reader>();
  /** Who wanted the last event: the next is often about the same. */
  #last: { readonly topic: string; readonly readers: ReadonlySet<Reader> } | undefined;

  /** @param filters what comes by the feed */
  constructor(filters: readonly string[]) {
    this.filters = filters;
  }

  /** Whether nobody is left. */
  get isEmpty(): boolean {
    return this.#readers.size === 0;
  }

  /** Whether all events come by the feed. */
  get hearsAll(): boolean {
    return this.filters.includes(">");
  }

  /** Whether all that matches these filters comes by the feed. */
  covers(filters: readonly string[]): boolean {
    return filters.every((filter) => this.filters.some((wide) => filterCovers(wide, filter)));
  }

  /** Adds somebody who wants what matches these filters. */
  add(reader: Reader, filters: readonly string[]): void {
    this.#readers.add(reader);
    this.#last = undefined;
    for (const filter of filters) this.#matching.add(filter, reader);
  }

  /** Removes somebody. Returns whether that was one of them. */
  delete(reader: Reader, filters: readonly string[]): boolean {
    this.#last = undefined;
    for (const filter of filters) this.#matching.delete(filter, reader);
    return this.#readers.delete(reader);
  }

  /** Those who want an event. */
  match(topic: string): ReadonlySet<Reader> {
    if (this.#last?.topic !== topic) this.#last = { topic, readers: this.#matching.match(topic) };
    return this.#last.readers;
  }

  /** All of them, as they are now: telling one of something may remove it. */
  [Symbol.iterator](): Iterator<Reader> {
    return [...this.#readers].values();
  }
}
