/**
 * What an event is, what may be its topic, and how a topic is written as part of a file name.
 *
 * @module
 */

/** One event, as every bus delivers it. Those who receive it share it, so nobody writes into it. */
export interface BusEvent {
  /** Unique within its bus and otherwise opaque. It is also the cursor: "everything after this event". */
  readonly id: string;
  /** When it was published: ISO 8601, UTC, nanoseconds, such as `2026-05-08T12:34:56.123456789Z`. */
  readonly time: string;
  /** What it is about: segments joined by `.`, such as `session.abc123.state`. */
  readonly topic: string;
  /** What was published, to the byte. */
  readonly payload: Uint8Array;
  /** The identities of the buses that it has been on before, the first one first, if a link has brought it here. */
  readonly via?: readonly string[];
}

/** A topic was refused. The message names the topic and the rule that it breaks. */
export class TopicError extends Error {
  /** `"TopicError"`. */
  override name = "TopicError";
}

/** How long a topic may be, in bytes of a file name, which it must fit with a time before it; a `/` or `%` takes three there. */
export const MAX_TOPIC_BYTES = 200;

/** Topics that start with these characters are kept for control messages. */
export const RESERVED_PREFIX = "__";

/**
 * What nearly every topic is made of: it needs no other test but for its length, and stands in a file name as it is. The
 * tests below are of the cheap kind, too (no `\p{Cc}`): a process that publishes one event feels a tenth of a millisecond.
 */
const PLAIN = /^[\w:-]+(?:\.[\w:-]+)*$/;
// deno-lint-ignore no-control-regex
const CONTROL = /[\0-\x1f\x7f-\x9f]/;
// deno-lint-ignore no-control-regex
const NOT_IN_FILE_NAME = /[/%\0-\x1f\x7f-\x9f]/g;
// deno-lint-ignore no-control-regex
const NOT_IN_WORD = /[\s\0-\x1f\x7f-\x9f]/g;

const utf8 = new TextEncoder();
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Refuses what cannot be a topic.
 *
 * A topic is made of segments joined by `.`. No segment is empty, and none holds a space or a control character. The whole
 * is at most {@linkcode MAX_TOPIC_BYTES} bytes long, and does not start with {@linkcode RESERVED_PREFIX}.
 *
 * @param topic what somebody wants to publish under
 * @throws {TopicError} if it breaks a rule, which the message names
 *
 * @example
 * ```ts
 * import { checkTopic, TopicError } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * checkTopic("session.abc123.state");
 * checkTopic("message.sent:conv-123");
 * assert.throws(() => checkTopic("session..state"), TopicError);
 * ```
 */
export function checkTopic(topic: string): void {
  const broken = brokenRule(topic);
  if (broken !== undefined) throw new TopicError(`the topic ${abbreviated(topic)} ${broken}`);
}

function brokenRule(topic: string): string | undefined {
  if (topic === "") return "is empty: it needs at least one segment, such as color";
  if (topic.startsWith(RESERVED_PREFIX)) {
    return `starts with "${RESERVED_PREFIX}", which is reserved for control: it must start with something else`;
  }
  if (PLAIN.test(topic) && topic.length <= MAX_TOPIC_BYTES) return undefined;
  if (topic.split(".").includes("")) {
    return "has an empty segment: it must not start or end with a dot, or have two in a row";
  }
  if (/\s/.test(topic)) return "holds white space: its words can be joined by a dot, a dash or an underscore";
  if (CONTROL.test(topic)) return "holds a control character: it must be made of printable characters";
  if (!topic.isWellFormed()) return "holds half of a surrogate pair: it must be well-formed Unicode";
  const bytes = utf8.encode(encodeTopic(topic)).length;
  if (bytes > MAX_TOPIC_BYTES) {
    return `is ${bytes} bytes long as a file name: it must be at most ${MAX_TOPIC_BYTES}`;
  }
}

/** The topic in quotes, with anything that would break the line escaped, and short enough for a line. */
function abbreviated(topic: string): string {
  return JSON.stringify(topic.length > 60 ? `${topic.slice(0, 57)}...` : topic);
}

/**
 * Writes a topic as part of a file name: what cannot stand in one (`/`, `%`, NUL, control characters) becomes `%XX`.
 *
 * @param topic any string
 * @returns the same, with each byte that had to go written as `%` and two hexadecimal digits
 */
export function encodeTopic(topic: string): string {
  return PLAIN.test(topic) ? topic : topic.replace(NOT_IN_FILE_NAME, percentEncoded);
}

/**
 * Writes a topic as others than a directory can have it: as one word that is not empty, and not one of those that are reserved for
 * control. White space and control characters become `%XX`, as does the first character of what is reserved. A topic that keeps the
 * rules is unchanged; files in a directory may have others.
 *
 * @param topic any string
 */
export function wordOfTopic(topic: string): string {
  if (topic === "") return "%";
  const word = topic.replace(NOT_IN_WORD, percentEncoded);
  return word.startsWith(RESERVED_PREFIX) ? `${percentEncoded(word[0])}${word.slice(1)}` : word;
}

/**
 * Reads what {@linkcode encodeTopic} wrote.
 *
 * @param name the part of a file name that holds the topic
 * @returns the topic; `name` itself where it does not decode, since a script may have put a bare `%` there
 */
export function decodeTopic(name: string): string {
  if (!name.includes("%")) return name;
  const bytes: number[] = [];
  for (const [part, hex] of name.matchAll(/%([0-9a-f]{2})|%|[^%]+/gi)) {
    if (part === "%") return name;
    if (hex !== undefined) bytes.push(parseInt(hex, 16));
    else bytes.push(...utf8.encode(part));
  }
  try {
    return strictUtf8.decode(new Uint8Array(bytes));
  } catch {
    return name;
  }
}

function percentEncoded(character: string): string {
  return Array.from(utf8.encode(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}
