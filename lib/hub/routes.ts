/**
 * Which connections an event goes to: a map for the topics that somebody wants exactly, and a tree for filters.
 *
 * @module
 */
import { FilterTree } from "../filter.ts";

/** For how many topics it is remembered who wants them, as long as nobody subscribes or unsubscribes. */
const REMEMBERED_TOPICS = 1000;

/** A filter that matches nothing but itself. */
function isTopic(filter: string): boolean {
  return !/(^|[.:])\*(\.|$)|(^|\.)>$/.test(filter);
}

/**
 * Who is subscribed to what.
 *
 * @typeParam Subscriber compared as a `Set` compares
 */
export class Routes<Subscriber> {
  readonly #exact = new Map<string, Set<Subscriber>>();
  readonly #patterns = new FilterTree<Subscriber>();
  readonly #remembered = new Map<string, readonly Subscriber[]>();

  /**
   * Subscribes.
   *
   * @throws {FilterError} if it is no filter
   */
  add(filter: string, subscriber: Subscriber): void {
    if (isTopic(filter)) {
      const subscribers = this.#exact.get(filter);
      if (subscribers === undefined) this.#exact.set(filter, new Set([subscriber]));
      else subscribers.add(subscriber);
      this.#remembered.delete(filter);
    } else {
      this.#patterns.add(filter, subscriber);
      this.#remembered.clear();
    }
  }

  /** Unsubscribes. */
  delete(filter: string, subscriber: Subscriber): void {
    if (isTopic(filter)) {
      const subscribers = this.#exact.get(filter);
      subscribers?.delete(subscriber);
      if (subscribers?.size === 0) this.#exact.delete(filter);
      this.#remembered.delete(filter);
    } else {
      this.#patterns.delete(filter, subscriber);
      this.#remembered.clear();
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
    if (this.#remembered.size >= REMEMBERED_TOPICS) this.#remembered.clear();
    this.#remembered.set(topic, found);
    return found;
  }
}
