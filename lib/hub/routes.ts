/**
 * Which connections an event goes to: a map for the topics that somebody wants exactly, and a tree for filters.
 *
 * @module
 */
import { FilterTree, matchesOnlyItself } from "../filter.ts";

/** How many subscribers are remembered, of all topics together, as long as nobody subscribes or unsubscribes. */
const REMEMBERED = 100_000;

/**
 * Who is subscribed to what.
 *
 * @typeParam Subscriber compared as a `Set` compares
 */
export class Routes<Subscriber> {
  readonly #exact = new Map<string, Set<Subscriber>>();
  readonly #patterns = new FilterTree<Subscriber>();
  readonly #remembered = new Map<string, readonly Subscriber[]>();
  #rememberedSize = 0;

  /**
   * Subscribes.
   *
   * @throws {FilterError} if it is no filter
   */
  add(filter: string, subscriber: Subscriber): void {
    if (matchesOnlyItself(filter)) {
      const subscribers = this.#exact.get(filter);
      if (subscribers === undefined) this.#exact.set(filter, new Set([subscriber]));
      else subscribers.add(subscriber);
      this.#remembered.delete(filter);
    } else {
      this.#patterns.add(filter, subscriber);
      this.#forgetAll();
    }
  }

  /** Unsubscribes. */
  delete(filter: string, subscriber: Subscriber): void {
    if (matchesOnlyItself(filter)) {
      const subscribers = this.#exact.get(filter);
      subscribers?.delete(subscriber);
      if (subscribers?.size === 0) this.#exact.delete(filter);
      this.#remembered.delete(filter);
    } else {
      this.#patterns.delete(filter, subscriber);
      this.#forgetAll();
    }
  }

  /**
   * Who wants an event.
   *
   * @param topic its topic
   * @returns each once
   */
  match(topic: string): readonly Subscriber[] {
    const remembered = this.#remembered.get(topic);
    if (remembered !== undefined) return remembered;
    const subscribers = this.#patterns.match(topic);
    this.#exact.get(topic)?.forEach((subscriber) => subscribers.add(subscriber));
    const found = [...subscribers];
    // A topic takes its place, too, where nobody wants it.
    this.#rememberedSize += found.length + 1;
    if (this.#rememberedSize > REMEMBERED) this.#forgetAll();
    else this.#remembered.set(topic, found);
    return found;
  }

  #forgetAll(): void {
    this.#remembered.clear();
    this.#rememberedSize = 0;
  }
}
