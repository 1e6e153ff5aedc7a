/**
 * Which events are more than is to be kept, found without putting all of them in order: of a million names, those that go are few as
 * a rule, and sorting all for their sake would hold up everything else.
 *
 * All events are looked at twice. The first time, what there is is added up for each second; so it is known in which second
 * the limit is reached. The second time, those of that second are put in order.
 *
 * @module
 */
import { isAfter, sortNames } from "./name.ts";

/** The oldest events of a directory, beyond so many or so much of the newest. */
export class Excess {
  readonly #limit: number;
  readonly #measure: (name: string) => number;
  /** What there is in each second. */
  readonly #seconds = new Map<number, number>();
  /** The second in which the limit is reached, what there is room for in it, and what there is in it. */
  #edge: { readonly second: number; readonly room: number; readonly names: string[] } | undefined;
  #oldestToStay: string | undefined;

  /**
   * @param limit how much of the newest is to stay
   * @param measure what an event counts for
   */
  constructor(limit: number, measure: (name: string) => number) {
    this.#limit = limit;
    this.#measure = measure;
  }

  /** Looks at an event for the first time. */
  count(name: string, time: string): void {
    const second = secondOf(time);
    this.#seconds.set(second, (this.#seconds.get(second) ?? 0) + this.#measure(name));
  }

  /** All have been looked at once. */
  counted(): void {
    let room = this.#limit;
    for (const second of Float64Array.from(this.#seconds.keys()).sort().reverse()) {
      const amount = this.#seconds.get(second) ?? 0;
      if (amount > room) {
        this.#edge = { second, room, names: [] };
        break;
      }
      room -= amount;
    }
    this.#seconds.clear();
  }

  /** Looks at an event for the second time. Returns whether it may be one that is too much. */
  look(name: string, time: string): boolean {
    if (this.#edge === undefined) return false;
    const second = secondOf(time);
    if (second === this.#edge.second) this.#edge.names.push(name);
    return second <= this.#edge.second;
  }

  /** All have been looked at twice. */
  looked(): void {
    if (this.#edge === undefined) return;
    let { room } = this.#edge;
    for (const name of sortNames(this.#edge.names).reverse()) {
      room -= this.#measure(name);
      if (room < 0) break;
      this.#oldestToStay = name;
    }
  }

  /** Whether an event is one that is too much. */
  has(name: string, time: string): boolean {
    if (this.#edge === undefined) return false;
    const second = secondOf(time);
    if (second !== this.#edge.second) return second < this.#edge.second;
    return this.#oldestToStay === undefined || isAfter(this.#oldestToStay, name);
  }
}

/** The second of a time, as a number: its digits. */
function secondOf(time: string): number {
  return Number(time.slice(0, 19).replaceAll(/\D/g, ""));
}
