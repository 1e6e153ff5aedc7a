/**
 * Messages as events: what a consumer of a stream gives, and what a server alone does. A payload is a part of what was read at
 * once from the server, and keeps that in memory: whoever keeps many for long makes copies.
 *
 * @module
 */
import type { BusEvent } from "../../event.ts";
import { type Clock, formatTime } from "../../time.ts";
import type { Msg } from "./library.ts";
import { idOf, readHeaders } from "./mark.ts";
import type { Stream } from "./stream.ts";
import { topicOf } from "./subject.ts";

/** An event of a stream, and its place. */
export interface StreamMessage {
  /** Its number in the stream. */
  readonly sequence: number;
  /** Its number among those that the consumer has given, from 1. */
  readonly delivered: number;
  /** How many the consumer had yet to give after it. */
  readonly pending: number;
  /** Itself. */
  readonly event: BusEvent;
}

/**
 * Reads what a consumer has sent.
 *
 * @returns `undefined`, if that is no event, but something that the server says about the consumer
 */
export function readMessage(stream: Stream, message: Msg): StreamMessage | undefined {
  // $JS.ACK.STREAM.CONSUMER.DELIVERIES.SEQUENCE.DELIVERED.TIME.PENDING, or with DOMAIN.ACCOUNT before STREAM and more at the end.
  const words = message.reply?.split(".") ?? [];
  if (words[1] !== "ACK") return undefined;
  const at = words.length === 9 ? 5 : 7;
  const sequence = Number(words[at]);
  const { time, via } = readHeaders(message.headers);
  return {
    sequence,
    delivered: Number(words[at + 1]),
    pending: Number(words[at + 3]),
    event: {
      id: idOf(sequence, stream.mark),
      time: time ?? formatTime(BigInt(words[at + 2])),
      topic: topicOf(stream.prefix, message.subject),
      payload: message.data,
      ...via === undefined ? {} : { via },
    },
  };
}

/**
 * Reads what a server has sent that keeps nothing. Where its publisher has not marked it, the time is that at which it has come.
 *
 * @param prefix what the bus is below
 * @param clock never tells the same time twice
 */
export function readLiveMessage(prefix: string, message: Msg, clock: Clock): BusEvent {
  const { mark, time = formatTime(clock()), via } = readHeaders(message.headers);
  return {
    id: mark ?? `${time}-unmarked`,
    time,
    topic: topicOf(prefix, message.subject),
    payload: message.data,
    ...via === undefined ? {} : { via },
  };
}
