/**
 * Finding an event's place among others, by their names.
 *
 * @module
 */
import type { EventMark } from "../../bus.ts";
import { isAfter, timeOf } from "./name.ts";

/** An event's id and time, by its name. */
export function markOf(name: string): EventMark {
  return { id: name, time: timeOf(name) };
}

/**
 * Those that come after an event.
 *
 * @param after the name of an event; `undefined` stands for the place before all
 * @param names in the order of events
 */
export function namesAfter(after: string | undefined, names: readonly string[]): readonly string[] {
  return after === undefined ? names : names.slice(countUpTo(after, names));
}

/**
 * How many come no later than an event.
 *
 * @param name the name of an event
 * @param names in the order of events
 */
export function countUpTo(name: string, names: readonly string[]): number {
  let low = 0;
  for (let high = names.length; low < high;) {
    const middle = (low + high) >> 1;
    if (isAfter(names[middle], name)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The last of some events in their order; `undefined` if there are none. */
export function lastOf(names: Iterable<string | undefined>): string | undefined {
  let last: string | undefined;
  for (const name of names) {
    if (name !== undefined && (last === undefined || isAfter(name, last))) last = name;
  }
  return last;
}
