/**
 * What a bus threw, as the error that a client is answered with.
 *
 * @module
 */
import { BusError, SlowConsumerError } from "../../bus.ts";
import { TopicError } from "../../event.ts";
import { FilterError } from "../../filter.ts";
import { Errno, NinepError } from "../error.ts";

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
  if (error instanceof BusError) return new NinepError(error.message, Errno.EIO, { cause: error });
  return error;
}
