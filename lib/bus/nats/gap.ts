/**
 * Events that are gone before somebody has had them: a stream has removed them, or is another one, or a server that keeps nothing
 * was away.
 *
 * @module
 */
import { GapError } from "../../bus.ts";
import { formatTime, systemClock } from "../../time.ts";
import { idOf } from "./mark.ts";
import type { Stream, StreamState } from "./stream.ts";

/** Which events a stream no longer holds. */
export interface Removed {
  /** The sequence of the last event before them; 0 if there was none. */
  readonly after: number;
  /** That of the last of them. */
  readonly until: number;
  /** A time that is not before theirs. */
  readonly time: string;
}

/**
 * Tells that a stream no longer holds what somebody was to have.
 *
 * @param stream which
 * @param gap which events
 */
export function removed(stream: Stream, { after, until, time }: Removed): GapError {
  return new GapError(stream.link.shown, {
    after: after === 0 ? undefined : idOf(after, stream.mark),
    until: { id: idOf(until, stream.mark), time },
  });
}

/**
 * Tells that a stream is not the one that an id is of, or has lost its end.
 *
 * @param stream which
 * @param state what it holds
 * @param id of the event to begin after
 */
export function replaced(stream: Stream, { first, firstTime }: StreamState, id: string): GapError {
  const gap = new GapError(stream.link.shown, {
    after: id,
    until: { id: idOf(first - 1, stream.mark), time: firstTime },
  });
  gap.message =
    `${stream.link.shown}: the event ${JSON.stringify(id)} is not in the stream ${JSON.stringify(stream.name)}, ` +
    "which has been made anew since: what came after it is not known";
  return gap;
}

/**
 * Tells that events may have been missed while a server that keeps nothing was away.
 *
 * @param shown the address
 */
export function missed(shown: string): GapError {
  const time = formatTime(systemClock());
  const gap = new GapError(shown, { after: undefined, until: { id: `${time}-unmarked`, time } });
  gap.message = `${shown} was away, and events that were published meanwhile are lost: only a stream keeps them`;
  return gap;
}
