/**
 * The envelope: what a hub and its clients send each other, as JSON text.
 *
 * ```json
 * { "type": "message.sent", "id": "conv-123", "payload": { "text": "hello" } }
 * ```
 *
 * An event's topic is its `type` where `id` is empty, else `type:id`: an id is the end of a topic's last segment. A payload is a
 * JSON value; how it becomes bytes and is made of them again is in {@linkcode payloadOf} and {@linkcode envelopeOf}, so that
 * every JSON value and every byte string comes through every face unchanged.
 *
 * @module
 */
import type { EventMark } from "../bus.ts";
import { type BusEvent, RESERVED_PREFIX, wordOfTopic } from "../event.ts";
import {
  base64Member,
  fromBase64,
  parseJson,
  payloadMembers,
  payloadOfJson,
  readPayload,
  viaMember,
} from "../format.ts";
import { isVia, MAX_HOPS } from "../identity.ts";
import { messageOf } from "../thrown.ts";

/** A frame, taken apart. */
export interface Envelope {
  /** What it is about; or, if it begins with `__`, what it asks of the hub or tells of it. */
  readonly type: string;
  /** Whose it is; empty if it is nobody's in particular. */
  readonly id: string;
  /** Any JSON value, in which numbers are kept as they were written: as `JSON.rawJSON` makes them. */
  readonly payload: unknown;
  /** The payload to the byte, where the JSON value does not say all of it. */
  readonly payload_base64?: string;
  /** On which buses the event has been, if a link has brought it. */
  readonly via?: readonly string[];
  /** Asks for an answer once the event is on the bus, which will hold the same value. */
  readonly ref?: unknown;
}

/** What was received is no envelope. The message says why. */
export class EnvelopeError extends Error {
  /** `"EnvelopeError"`. */
  override name = "EnvelopeError";
  /** Which topic or filter it is about, if it is about one of several. */
  readonly topic: string | undefined;

  /**
   * @param message a sentence
   * @param options which topic or filter it is about, and why
   */
  constructor(message: string, options: ErrorOptions & { readonly topic?: string } = {}) {
    super(message, options);
    this.topic = options.topic;
  }
}

/**
 * Reads an envelope. One without an `id` has an empty one.
 *
 * @param text a frame
 * @throws {EnvelopeError} if it is none
 *
 * @example
 * ```ts
 * import { EnvelopeError, parseEnvelope } from "./envelope.ts";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(parseEnvelope('{"type":"color","payload":"red"}'), { type: "color", id: "", payload: "red" });
 * assert.throws(() => parseEnvelope('{"type":5}'), EnvelopeError);
 * ```
 */
export function parseEnvelope(text: string): Envelope {
  let said: unknown;
  try {
    said = parseJson(text);
  } catch (error) {
    throw new EnvelopeError(`this is not JSON that can be read: ${messageOf(error)}`);
  }
  // A number is an object here, too, so that it can be kept as it was written.
  if (typeof said !== "object" || said === null || !text.trimStart().startsWith("{")) {
    throw new EnvelopeError('this is no envelope: an envelope is {"type": ..., "id": ..., "payload": ...}');
  }
  const { type, id = "", payload = null, payload_base64, via, ref } = said as Readonly<Record<string, unknown>>;
  if (typeof type !== "string" || type === "") throw new EnvelopeError('an envelope needs a "type", which is a string');
  if (typeof id !== "string") throw new EnvelopeError('the "id" of an envelope is a string');
  if (payload_base64 === undefined && !("payload" in said)) {
    throw new EnvelopeError('an envelope needs a "payload", which may be null');
  }
  if (payload_base64 !== undefined && typeof payload_base64 !== "string") {
    throw new EnvelopeError('"payload_base64" is a string');
  }
  if (via !== undefined && !isVia(via)) {
    throw new EnvelopeError(`"via" is a list of identities of buses, ${MAX_HOPS} at most`);
  }
  return {
    type,
    id,
    payload,
    ...payload_base64 === undefined ? {} : { payload_base64 },
    ...via === undefined ? {} : { via },
    ...ref === undefined ? {} : { ref },
  };
}

/**
 * Whether an envelope is for the hub, or from it, and no event.
 *
 * @param envelope any
 */
export function isControl({ type }: Envelope): boolean {
  return type.startsWith(RESERVED_PREFIX);
}

/**
 * The topic of an envelope.
 *
 * @param envelope any
 * @throws {EnvelopeError} if whoever receives the event would find another `type` and `id` in it
 *
 * @example
 * ```ts
 * import { topicOf } from "./envelope.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(topicOf({ type: "message.sent", id: "conv-123" }), "message.sent:conv-123");
 * assert.equal(topicOf({ type: "color", id: "" }), "color");
 * ```
 */
export function topicOf({ type, id }: Pick<Envelope, "type" | "id">): string {
  if (id === "") return type;
  if (id.includes(".")) {
    throw new EnvelopeError(`the id ${JSON.stringify(id)} holds a dot, which would begin another segment of the topic`);
  }
  if (partsOf(type).id !== "") {
    throw new EnvelopeError(`the type ${JSON.stringify(type)} ends with an id already, so it cannot have another`);
  }
  return `${type}:${id}`;
}

/**
 * The type and id of a topic: the way back from {@linkcode topicOf}.
 *
 * @param topic any string
 */
export function partsOf(topic: string): Pick<Envelope, "type" | "id"> {
  const colon = topic.indexOf(":", topic.lastIndexOf(".") + 1);
  if (colon <= 0 || colon === topic.length - 1) return { type: topic, id: "" };
  return { type: topic.slice(0, colon), id: topic.slice(colon + 1) };
}

/**
 * The payload of an envelope as it goes onto the bus: a string that could not be mistaken for JSON as it is, any other value as its
 * JSON text.
 *
 * @param envelope any
 * @throws {EnvelopeError} if its `payload_base64` is not base64
 */
export function payloadOf({ payload, payload_base64 }: Envelope): Uint8Array | string {
  if (payload_base64 === undefined) return payloadOfJson(payload);
  try {
    return fromBase64(payload_base64);
  } catch {
    throw new EnvelopeError('"payload_base64" is not base64');
  }
}

/**
 * The envelope of an event. Its payload is the JSON value that the bytes are, else a string; where that does not lead back to
 * the same bytes, because they are not UTF-8 or because JSON can be written in more than one way, `payload_base64` has them, too.
 *
 * @param event any
 * @returns the text of a frame
 */
export function envelopeOf(event: Pick<BusEvent, "topic" | "payload">): string {
  const parts = JSON.stringify(partsOf(wordOfTopic(event.topic))).slice(0, -1);
  return `${parts},${losslessMembers(event.payload)}}`;
}

/**
 * The same envelope for a connection that wants to come back to this event.
 *
 * @param envelope what {@linkcode envelopeOf} made
 * @param mark the event's
 */
export function withPosition(envelope: string, { id, time }: EventMark): string {
  return `${envelope.slice(0, -1)},"at":${JSON.stringify(id)},"time":${JSON.stringify(time)}}`;
}

/**
 * The same envelope with the buses that the event has been on.
 *
 * @param envelope what {@linkcode envelopeOf} made, or {@linkcode withPosition}
 * @param via their identities
 */
export function withVia(envelope: string, via: readonly string[]): string {
  return `${envelope.slice(0, -1)},${viaMember(via)}}`;
}

/** The members of a payload, with one more where they do not say all of it. */
function losslessMembers(payload: Uint8Array): string {
  const read = readPayload(payload);
  const members = payloadMembers(payload, read);
  if (read?.json === undefined || payloadOfJson(read.json.value) === read.text) return members;
  // JavaScript's numbers may be what has changed.
  if (payloadOfJson(parseJson(read.text)) === read.text) return members;
  return `${members},${base64Member(payload)}`;
}
