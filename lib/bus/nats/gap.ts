/**
 * Events that are gone before somebody has had them: a stream has removed them, or a server that keeps nothing was away.
 *
 * @module
 */
import { UnreadableEventError } from "../../bus.ts";
import type { Stream } from "./stream.ts";
import { idOf } from "./mark.ts";

/** Which events a stream no longer holds. */
export interface Removed {
  /** The sequence of the last event before them. */
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
export function removed(stream: Stream, { after, until }: Removed): UnreadableEventError {
  const since = after === 0 ? "" : ` after ${idOf(after, stream.mark)} and`;
  return new UnreadableEventError(
    `${stream.link.shown}: events${since} up to ${idOf(until, stream.mark)} were removed before they were read`,
  );
}

/**
 * Tells that a stream is not the one that an id is of, or has lost its end.
 *
 * @param stream which
 * @param id of the event to begin after
 */
export function replaced(stream: Stream, id: string): UnreadableEventError {
  return new UnreadableEventError(
    `${stream.link.shown}: the event ${id} is not in the stream ${
      JSON.stringify(stream.name)
    }, which has been made anew since: ` +
      "what came after it is not known",
  );
}

/**
 * Tells that events may have been missed while a server that keeps nothing was away.
 *
 * @param shown the address
 */
export function missed(shown: string): UnreadableEventError {
  return new UnreadableEventError(
    `${shown} was away, and events that were published meanwhile are lost: only a stream keeps them`,
  );
}
