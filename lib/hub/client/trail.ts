/**
 * Where a client is in the order of events, so that it can come back there.
 *
 * An event can come a moment later than one with a later id, if its publisher was slow. To miss none of those, a client asks
 * for what comes after an event that was published a few seconds before the last one, and passes by what it has had already.
 *
 * @module
 */
import type { EventMark } from "../../bus.ts";
import { isAfter, isKnownGap } from "../../bus/place.ts";

/** How far before the newest event one that comes late is still found, in milliseconds. */
const WINDOW_MS = 5000;

/**
 * How much is remembered of what has been had, at most: this much may come again each time a client comes back. Where more
 * than that came within the window, the window is shorter.
 */
const MAX_EVENTS = 2000;
const MAX_BYTES = 4 * 1024 * 1024;

/** Where to begin, as a `__subscribe` says it. */
export type Beginning = { readonly after: string | null } | { readonly replay: "all" | number };

/** What has been had, and the place to come back to. */
export class Trail {
  /** All up to here has been had. `null` stands for the place before the first event ever, and `undefined` for nobody knows. */
  #base: EventMark | null | undefined;
  /** What has been had after it, by id. */
  readonly #seen = new Map<string, { readonly time: string; readonly bytes: number }>();
  #bytes = 0;
  /** What has been removed up to here is known to be gone. */
  #gone: EventMark | undefined;

  /**
   * Begins at a place, if there is none yet.
   *
   * @param place all up to here is done with; `null` for the place before the first event ever
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
   * Takes note of events that are gone.
   *
   * @param until the last of them
   * @returns whether that is news: a hub knows of the place to which a client comes back, and not of what it has had after it
   */
  noteGap(until: EventMark): boolean {
    const seen = Array.from(this.#seen, ([id, { time }]) => ({ id, time }));
    if (isKnownGap({ after: this.#base ?? undefined, seen, gone: this.#gone }, until)) return false;
    this.#gone = until;
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
    return { after: this.#base?.id ?? null };
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
