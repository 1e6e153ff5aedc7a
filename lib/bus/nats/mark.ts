/**
 * What an event is known by on NATS.
 *
 * A publisher marks each message with a header, `Nats-Msg-Id: TIME-PUBLISHER`: by it a stream finds out that an event is sent once
 * more, and it says when the event was published. Without a stream it is the event's id, too. In a stream that is
 * `SEQUENCE-STREAM`, where the second part stands for the stream as it was made: in another one of the same name, or the same made
 * anew, the sequence says nothing.
 *
 * What others publish without such a header has the time at which it came. So has what a link publishes into a stream: there the header
 * is what the link knows the event by, so that the stream finds out that it has it from an earlier run. On which buses an event has
 * been is in a second header, `Ollie-Via`, with spaces between them.
 *
 * @module
 */
import { BusError, type EventMark, type Position } from "../../bus.ts";
import { isVia } from "../../identity.ts";
import { formatTime } from "../../time.ts";
import type { MsgHdrs } from "./library.ts";

/** The header. It is NATS' own, and of those that it has the one that every publisher is asked for. */
const MARK_HEADER = "Nats-Msg-Id";

/** The header with the buses that an event has been on, where a link has brought it. */
const VIA_HEADER = "Ollie-Via";

const SHEET_BYTES = 8192;

const MARK = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z-./;
const TIME_LENGTH = "2026-05-08T12:34:56.123456789Z".length;
const STREAM_ID = /^(\d{1,16})-([0-9a-z]{1,16})$/;

/**
 * The headers of an event, as they are sent.
 *
 * @param mark such as `2026-05-08T12:34:56.123456789Z-k3x9q2`
 * @param via on which buses it has been
 */
export function headerBytes(mark: string, via: readonly string[] | undefined): Uint8Array {
  const more = via === undefined ? "" : `${VIA_HEADER}: ${via.join(" ")}\r\n`;
  return asciiBytes(`NATS/1.0\r\n${MARK_HEADER}: ${mark}\r\n${more}\r\n`);
}

/**
 * The mark that a stream finds out by that it has an event already.
 *
 * @param deduplicationId what the event is known by wherever it is published
 */
export function repeatableMark(deduplicationId: string): string {
  return encodeURIComponent(deduplicationId.toWellFormed());
}

/** What the client takes for headers: it asks them for nothing but their bytes, and its own take three times as long to make them. */
export function headersOf(bytes: Uint8Array): MsgHdrs {
  return { encode: () => bytes } as unknown as MsgHdrs;
}

/** Where the next few are written: an array for each would take longer to make than what is in it. */
let sheet = new Uint8Array(0);
let written = 0;

function asciiBytes(text: string): Uint8Array {
  if (written + text.length > sheet.length) {
    sheet = new Uint8Array(Math.max(SHEET_BYTES, text.length));
    written = 0;
  }
  const bytes = sheet.subarray(written, written += text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** What is ours of a message's headers. */
export interface OurHeaders {
  /** The mark. */
  readonly mark: string | undefined;
  /** The time that it tells. */
  readonly time: string | undefined;
  /** On which buses the event has been. */
  readonly via: readonly string[] | undefined;
}

/** Reads what is ours of a message's headers. */
export function readHeaders(headers: MsgHdrs | undefined): OurHeaders {
  let mark, via;
  for (const [name, [value]] of headers ?? []) {
    if (name === MARK_HEADER && MARK.test(value)) mark = value;
    else if (name === VIA_HEADER) via = value.split(" ");
  }
  return { mark, time: mark?.slice(0, TIME_LENGTH), via: isVia(via) ? via : undefined };
}

/**
 * The id of an event in a stream.
 *
 * @param sequence the stream's own number for it
 * @param stream what {@linkcode streamMark} makes of the stream
 */
export function idOf(sequence: number, stream: string): string {
  return `${sequence}-${stream}`;
}

/**
 * What stands for a stream in the ids of its events.
 *
 * @param created when it was made, as the server tells it
 */
export function streamMark(created: string): string {
  return nanosecondsOf(created).toString(36);
}

/**
 * Takes an id apart.
 *
 * @throws {BusError} if it is none
 */
export function parseId(id: string): { readonly sequence: number; readonly stream: string } {
  const [, digits, stream] = STREAM_ID.exec(id) ?? [];
  if (digits === undefined) {
    throw new BusError(
      `${JSON.stringify(id)} is not the id of an event in a stream: such an id looks like 42-dfxqz1h3k0w0`,
    );
  }
  return { sequence: Number(digits), stream };
}

/** The events that a place tells of. */
export function marksOf(place: Position | undefined): EventMark[] {
  const { after, seen = [], gone } = place ?? {};
  return [after, ...seen, gone].filter((mark) => mark !== undefined);
}

/**
 * A moment as the server tells it, in the one form that all events have it in.
 *
 * @param text such as `2026-05-08T12:34:56.1234Z`
 */
export function normalTime(text: string): string {
  return formatTime(nanosecondsOf(text));
}

function nanosecondsOf(text: string): bigint {
  const [, second, fraction = "", zone] = /^([^.]+?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  const milliseconds = Math.max(0, Date.parse(`${second}${zone}`) || 0);
  return BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0").slice(0, 9) || 0);
}
