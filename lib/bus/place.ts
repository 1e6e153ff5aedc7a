/**
 * Where somebody who comes back to a bus has been: the place that a subscription begins at, however it was told, and the order of
 * places where nothing is known of them but their marks.
 *
 * @module
 */
import type { EventMark, Position, SubscribeOptions } from "../bus.ts";

/** The place before the first event that there ever was. */
export const BEFORE_ALL: Position = { after: undefined, seen: [] };

/**
 * The place that a subscription comes back to.
 *
 * @param from where it is to begin
 * @returns `undefined` if it comes back to none: all that there is now, or that is to come, is what it asks for
 */
export function placeOf(from: NonNullable<SubscribeOptions["from"]>): Position | undefined {
  if (typeof from === "string" || "last" in from) return undefined;
  if ("seen" in from) return from;
  // When that event was published is not known; nothing needs to.
  return { after: { id: from.after, time: "" }, seen: [] };
}

/**
 * Whether who comes back to a place knows of a gap already, or need not: for those carriers to which no more of it can be told than
 * the event that all is done with up to.
 *
 * @param place where they come back to
 * @param until the last event of the gap
 */
export function isKnownGap({ after, seen, gone }: Position, until: EventMark): boolean {
  if (seen.some(({ id }) => id === until.id)) return true;
  if (gone !== undefined) return !isAfter(until, gone);
  // Who began with all that there was has not missed what had been removed before the first of it.
  return after === undefined && seen.length > 0 && seen.every((mark) => isAfter(mark, until));
}

/**
 * Whether an event comes after another in the order of a bus that keeps events.
 *
 * @param mark the event's
 * @param other the other one's
 */
export function isAfter(mark: EventMark, other: EventMark): boolean {
  return mark.time > other.time || (mark.time === other.time && mark.id > other.id);
}
