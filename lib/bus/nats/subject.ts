/**
 * How topics and filters are written as NATS subjects. Both are segments joined by dots, and `*` and `>` mean the same, so that
 * most are written as they are, below a prefix: the topic `session.abc123.state` is the subject `PREFIX.session.abc123.state`.
 *
 * @see https://docs.nats.io/nats-concepts/subjects
 * @module
 */

/** What a subject cannot hold, or means something else by; `%` begins what stands in the place of those. */
// deno-lint-ignore no-control-regex
const NOT_IN_SUBJECT = /[%*>\s\0-\x1f\x7f-\x9f]/g;

/** What nearly every topic is made of. */
const PLAIN = /^[\w.:-]+$/;

/** How long a subject to subscribe to may be, in bytes: a server ends a connection that sends a line of more than 4096. */
const MAX_SUBJECT_BYTES = 1000;

/** How many subjects are subscribed to at once, before all are: a server tests each event against each of them. */
const MAX_SUBJECTS = 16;

const utf8 = new TextEncoder();

/**
 * The subject of a topic.
 *
 * @param prefix what the bus is below
 * @param topic one that keeps the rules
 *
 * @example
 * ```ts
 * import { subjectOf } from "./subject.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(subjectOf("ollie", "rate.50%"), "ollie.rate.50%25");
 * ```
 */
export function subjectOf(prefix: string, topic: string): string {
  return `${prefix}.${encoded(topic)}`;
}

/**
 * The topic of a subject: of any, since others may publish there, too.
 *
 * @param prefix what the bus is below
 * @param subject one that begins with the prefix and a dot
 */
export function topicOf(prefix: string, subject: string): string {
  const rest = subject.slice(prefix.length + 1);
  if (!rest.includes("%")) return rest;
  // No more than what a topic is written with: other texts that look alike are others' own.
  return rest.replace(/%(25|2A|3E)/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
}

/**
 * Subjects that all events which match one of the filters have, and as few other events as can be; no two of them share any.
 *
 * @param prefix what the bus is below
 * @param filters that are known to be filters
 * @param atMost how many subjects there may be
 */
export function subjectsOf(prefix: string, filters: readonly string[], atMost = MAX_SUBJECTS): string[] {
  const every = `${prefix}.>`;
  const all = new Set(filters.map((filter) => subjectOfFilter(prefix, filter)));
  // An event must not come twice, and a server refuses what could make it.
  const subjects = [...all].filter((subject) => ![...all].some((wide) => wide !== subject && covers(wide, subject)));
  const clash = subjects.some((one, at) => subjects.slice(at + 1).some((other) => overlap(one, other)));
  const long = subjects.some((subject) => utf8.encode(subject).length > MAX_SUBJECT_BYTES);
  return clash || long || subjects.length > atMost ? [every] : subjects;
}

function subjectOfFilter(prefix: string, filter: string): string {
  if (filter === "*") return `${prefix}.>`;
  const tokens = filter.split(".").map((segment, at, { length }) => {
    // Which id it is, no subject can say: what is not wanted is left out when it has come.
    if (segment === "*" || (segment.length > 2 && segment.endsWith(":*"))) return "*";
    return segment === ">" && at === length - 1 ? ">" : encoded(segment);
  });
  return `${prefix}.${tokens.join(".")}`;
}

/**
 * Whether all that one subject stands for, another does, too.
 *
 * @param wide with or without wildcards
 * @param narrow likewise
 */
export function covers(wide: string, narrow: string): boolean {
  const tokens = narrow.split(".");
  const patterns = wide.split(".");
  for (const [at, pattern] of patterns.entries()) {
    if (at >= tokens.length) return false;
    if (pattern === ">") return true;
    if (tokens[at] === ">" || (pattern !== "*" && pattern !== tokens[at])) return false;
  }
  return patterns.length === tokens.length;
}

/** Whether there is a subject that both stand for. */
function overlap(one: string, other: string): boolean {
  const tokens = other.split(".");
  const patterns = one.split(".");
  for (const [at, pattern] of patterns.entries()) {
    if (at >= tokens.length) return false;
    if (pattern === ">" || tokens[at] === ">") return true;
    if (pattern !== "*" && tokens[at] !== "*" && pattern !== tokens[at]) return false;
  }
  return patterns.length === tokens.length;
}

function encoded(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(
    NOT_IN_SUBJECT,
    (character) =>
      Array.from(utf8.encode(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
}
