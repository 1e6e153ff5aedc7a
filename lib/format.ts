/**
 * An event as a line, in text or in JSON: the same wherever Ollie shows events as lines.
 *
 * @module
 */
import { concatenated } from "./bytes.ts";
import { type BusEvent, wordOfTopic } from "./event.ts";

const NEWLINE = 10;
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const utf8 = new TextEncoder();

/**
 * `topic payload`: the topic as one word, a space, and the payload without its last newline, if it ends with one. Newlines
 * inside the payload stay, so it may be more than one line after all.
 *
 * @param event any event
 * @returns the line, without a newline of its own
 */
export function textOf(event: BusEvent): Uint8Array {
  const topic = utf8.encode(`${wordOfTopic(event.topic)} `);
  const payload = event.payload.at(-1) === NEWLINE ? event.payload.subarray(0, -1) : event.payload;
  return concatenated([topic, payload]);
}

/**
 * `{"id","time","topic","payload"}`, on one line. A payload that is JSON stands there as it is, digit for digit; any other
 * text as a string; and one that is not UTF-8 as `"payload":null,"payload_base64":"..."`.
 *
 * @param event any event
 * @returns the line, without a newline
 */
export function jsonOf(event: BusEvent): string {
  return jsonWith(event, payloadMembers(event.payload));
}

/**
 * The same for a reader that wants all of it, to the byte: `{"id","time","topic","payload_base64"}`, and `"via"` where a link has
 * brought it.
 *
 * @param event any event
 * @returns the line, without a newline
 */
export function base64JsonOf(event: BusEvent): string {
  const payload = base64Member(event.payload);
  return jsonWith(event, event.via === undefined ? payload : `${payload},${viaMember(event.via)}`);
}

/**
 * The buses that an event has been on, as a member of a JSON object.
 *
 * @param via their identities
 */
export function viaMember(via: readonly string[]): string {
  return `"via":${JSON.stringify(via)}`;
}

function jsonWith({ id, time, topic }: BusEvent, members: string): string {
  return `${JSON.stringify({ id, time, topic }).slice(0, -1)},${members}}`;
}

/**
 * How deep JSON may be nested, in a payload. What reads JSON calls itself for each level, so at some thousands its stack overflows:
 * ours, or that of whoever we would send it to. A payload that is deeper is bytes.
 */
const MAX_PAYLOAD_DEPTH = 500;

/** The same for what has a payload in it. */
const MAX_DEPTH = MAX_PAYLOAD_DEPTH + 10;

/** What a payload is to a reader of text. */
export interface ReadablePayload {
  /** The payload as text. */
  readonly text: string;
  /** The value that it is, if it is JSON, in numbers of JavaScript's. */
  readonly json: { readonly value: unknown } | undefined;
}

/** What JSON can begin with: to find out by an error costs ten times as much. */
const BEGINS_JSON = /^[\s{["\-\dtfn]/;

/**
 * Reads a payload as text.
 *
 * @param payload any bytes
 * @returns what it is; `undefined` if it is not UTF-8, or could be mistaken for JSON that is nested too deeply
 */
export function readPayload(payload: Uint8Array): ReadablePayload | undefined {
  let text;
  try {
    text = strictUtf8.decode(payload);
  } catch {
    return undefined;
  }
  if (isDeeperThan(MAX_PAYLOAD_DEPTH, text)) return undefined;
  return { text, json: BEGINS_JSON.test(text) ? parsed(text) : undefined };
}

/** Whether JSON is nested deeper than that. What is no JSON may be so, too. */
function isDeeperThan(limit: number, text: string): boolean {
  // Text in colors has brackets, too, but neither begins nor ends as JSON does.
  if (text.length <= 2 * limit || !/^\s*[[{]/.test(text) || !/[\]}]\s*$/.test(text)) return false;
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (inString) {
      if (character === "\\") at++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === "[" || character === "{") {
      if (++depth > limit) return true;
    } else if (character === "]" || character === "}") depth--;
  }
  return false;
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/**
 * A payload as members of a JSON object: `"payload"`, and `"payload_base64"` where it is no text.
 *
 * @param payload any bytes
 * @param read what {@linkcode readPayload} made of it
 * @returns the members, without braces around them
 */
export function payloadMembers(payload: Uint8Array, read = readPayload(payload)): string {
  if (read === undefined) return `"payload":null,${base64Member(payload)}`;
  if (read.json === undefined) return `"payload":${JSON.stringify(read.text)}`;
  // Parsing it and writing it again could change it: 12345678901234567890 is not a number that JavaScript has. In JSON, a
  // newline can only stand between tokens, where it means nothing.
  return `"payload":${read.text.trim().replace(/[\r\n]+/g, " ")}`;
}

/**
 * A payload as the member that has it to the byte.
 *
 * @param payload any bytes
 */
export function base64Member(payload: Uint8Array): string {
  return `"payload_base64":"${base64(payload)}"`;
}

/** What the platform has, and its types do not tell of yet: a number as it was written. */
declare global {
  interface JSON {
    /** Makes what `JSON.stringify` writes as that text. Some browsers have yet to get it. */
    rawJSON?(text: string): unknown;
    /** Parses, with the text of each value at hand. */
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source: string }) => unknown,
    ): unknown;
  }
}

/**
 * Parses JSON so that `JSON.stringify` gives back its numbers as they were written: 12345678901234567890 is not a number that
 * JavaScript has. Where the platform cannot do that, they are those that it has.
 *
 * @param text the JSON
 * @throws {SyntaxError} if it is none, or is nested too deeply
 */
export function parseJson(text: string): unknown {
  if (isDeeperThan(MAX_DEPTH, text)) throw new SyntaxError(`it is nested too deeply: ${MAX_DEPTH} levels are allowed`);
  const { rawJSON } = JSON;
  if (rawJSON === undefined) return JSON.parse(text);
  return JSON.parse(text, (_key, value, { source }) => typeof value === "number" ? rawJSON(source) : value);
}

/**
 * What a JSON value is as a payload: a string that could not be mistaken for JSON stands for itself, and any other value for its
 * JSON text. It is the way back from {@linkcode jsonOf}, but for white space around and within JSON.
 *
 * @param value what {@linkcode parseJson} returned
 */
export function payloadOfJson(value: unknown): string {
  // Half of a surrogate pair cannot be written in UTF-8, but in JSON.
  const isJson = typeof value !== "string" || !value.isWellFormed() ||
    (BEGINS_JSON.test(value) && parsed(value) !== undefined);
  return isJson ? JSON.stringify(value) : value;
}

/** What newer releases have, and the types of older ones do not tell of: it is ten times as fast. */
const native: { toBase64?(this: Uint8Array): string } = Uint8Array.prototype as object;

/**
 * Writes bytes in base64.
 *
 * @param bytes any
 */
export function base64(bytes: Uint8Array): string {
  if (native.toBase64 !== undefined) return native.toBase64.call(bytes);
  let characters = "";
  // Few enough at a time to be arguments of one call.
  for (let at = 0; at < bytes.length; at += 8192) characters += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(characters);
}

/**
 * Reads what {@linkcode base64} wrote.
 *
 * @param text in base64, with its padding or without
 * @throws {DOMException} if it is not base64
 */
export function fromBase64(text: string): Uint8Array {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < characters.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}
