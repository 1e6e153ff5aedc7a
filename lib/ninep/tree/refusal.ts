/**
 * What a bus threw, or a client wrote, as the error that the client is answered with.
 *
 * @module
 */
import {
  BusError,
  type EventMark,
  GapError,
  RefusedEventError,
  SlowConsumerError,
  UnreadableEventError,
} from "../../bus.ts";
import { TopicError } from "../../event.ts";
import { FilterError } from "../../filter.ts";
import { Errno, NinepError } from "../error.ts";

/** What the text begins with where one event cannot be read, and the next read brings the one after it. */
export const UNREADABLE = "unreadable event: ";

/** What it begins with where an event is not taken, and would not be if it were written again. */
export const REFUSED = "refused event: ";

/** What it begins with where events are gone. What follows is JSON. */
const GAP = "events are gone: ";

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads what a client wrote as text.
 *
 * @param bytes what it wrote
 * @param what what that is, for the error
 * @throws {NinepError} if it is not UTF-8
 */
export function textIn(bytes: Uint8Array, what: string): string {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    throw new NinepError(`${what} is not UTF-8`, Errno.EINVAL);
  }
}

/**
 * Finds the number that goes with an error of a bus.
 *
 * @param error what was thrown
 * @returns the same in the words of the protocol; what is no refusal but a fault stays as it is
 */
export function asNinepError(error: unknown): unknown {
  if (error instanceof TopicError || error instanceof FilterError) {
    return new NinepError(error.message, Errno.EINVAL, { cause: error });
  }
  if (error instanceof SlowConsumerError) return new NinepError(error.message, Errno.ENOBUFS, { cause: error });
  if (error instanceof UnreadableEventError) {
    return new NinepError(`${UNREADABLE}${error.message}`, Errno.EIO, { cause: error });
  }
  if (error instanceof RefusedEventError) {
    return new NinepError(`${REFUSED}${error.message}`, Errno.EIO, { cause: error });
  }
  if (error instanceof GapError) return new NinepError(gapText(error), Errno.EPIPE, { cause: error });
  if (error instanceof BusError) return new NinepError(error.message, Errno.EIO, { cause: error });
  return error;
}

/** A gap, for people and programs. */
function gapText({ after, until: { id, time } }: GapError): string {
  return `${GAP}${JSON.stringify({ after, until: id, time })}`;
}

/**
 * Reads what a server answered where events are gone.
 *
 * @param message the text of an Rerror
 * @returns `undefined` if it says something else
 */
export function parseGap(
  message: string,
): { readonly after: string | undefined; readonly until: EventMark } | undefined {
  if (!message.startsWith(GAP)) return undefined;
  try {
    const { after, until, time } = JSON.parse(message.slice(GAP.length));
    if (![until, time].every((word) => typeof word === "string")) return undefined;
    return { after: typeof after === "string" ? after : undefined, until: { id: until, time } };
  } catch {
    return undefined;
  }
}
