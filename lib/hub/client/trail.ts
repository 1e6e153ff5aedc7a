/**
 * Where a client is in the order of events, so that it can come back there.
 *
 * An event can come a moment later than one with a later id, if its publisher was slow. To miss none of those, a client asks
 * for what comes after an event that was published a few seconds before the last one, and passes by what it has had already.
 *
 * @module
 */
import type { EventMark } from "../../bus.ts";

/** How far before the newest event one that comes late is still found, in milliseconds. */
const WINDOW_MS = 5000;

/**
 * How much is remembered of what has been had, at most: this much may come again each time a client comes back. Where more
 * than that came within the window, the window is shorter.
 */
const MAX_EVENTS = 2000;
const MAX_BYTES = 4 * 1024 * 1024;

/** Where to begin, as a `__subscribe` says it. */
export type Beginning = { readonly after: string } | { readonly replay: "all" | number };

/** What has been had, and the place to come back to. */
export class Trail {
  /** All up to here has been had. `null` stands for the start, and `undefined` for nobody knows. */
  #base: EventMark | null | undefined;
  /** What has been had after it, by id. */
  readonly #seen = new Map<string, { readonly time: string; readonly bytes: number }>();
  #bytes = 0;

  /**
   * Begins at a place, if there is none yet.
   *
   * @param place all up to here is done with; `null` for the start
   */
  begin(place: EventMark | null): void {
    if (this.#base === undefined) this.#base = place;
  }

  /** Forgets all: there is nothing to come back to. */
  clear(): void {
    this.#base = undefined;
    this.#seen.clear();
    this.#bytes = 0;
  }

  /**
   * Takes note of an event.
   *
   * @param mark the event's
   * @param bytes how long it is
   * @returns whether it has not been had before
   */
  note({ id, time }: EventMark, bytes: number): boolean {
    if (this.#seen.has(id)) return false;
    this.begin({ id, time });
    this.#seen.set(id, { time, bytes });
    this.#bytes += bytes;
    // Rarely, since it takes a look at all of them: only when there is twice as much as needs to be.
    if (this.#seen.size > 2 * MAX_EVENTS || this.#bytes > 2 * MAX_BYTES) this.#forget("");
    return true;
  }

  /**
   * What to ask for to come back.
   *
   * @param now the time, in milliseconds
   * @returns `undefined` if there is no place to come back to
   */
  resume(now = Date.now()): Beginning | undefined {
    let newest = "";
    for (const { time } of this.#seen.values()) if (time > newest) newest = time;
    // An event from a clock that is ahead does not take the window with it.
    const newestMs = Math.min(Date.parse(newest), now);
    // Without its Z, a time in milliseconds sorts before all the nanoseconds within them.
    this.#forget(Number.isNaN(newestMs) ? "" : new Date(newestMs - WINDOW_MS).toISOString().slice(0, -1));
    if (this.#base === undefined) return undefined;
    return this.#base === null ? { replay: "all" } : { after: this.#base.id };
  }

  /** Forgets what is older than a time, and what is too much. The last of that is the new place to begin after. */
  #forget(edge: string): void {
    const marks = Array.from(this.#seen, ([id, { time }]) => ({ id, time })).sort((a, b) => isAfter(a, b) ? 1 : -1);
    for (const mark of marks) {
      if (mark.time >= edge && this.#seen.size <= MAX_EVENTS && this.#bytes <= MAX_BYTES) return;
      this.#bytes -= this.#seen.get(mark.id)?.bytes ?? 0;
      this.#seen.delete(mark.id);
      if (!this.#base || isAfter(mark, this.#base)) this.#base = mark;
    }
  }
}

/** Whether an event comes after another in the order of a bus that keeps events. */
export function isAfter(a: EventMark, b: EventMark): boolean {
  return a.time > b.time || (a.time === b.time && a.id > b.id);
}
