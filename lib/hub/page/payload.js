// @ts-check
/**
 * A payload as text: on one line for the tail, and in full for who wants to read it. What is shown is what is on the bus, digit for
 * digit, and never becomes HTML.
 *
 * @module
 */
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What JavaScript might write in another way, or something that looks like it. */
const UNUSUAL_NUMBER = /\d{16}|\d\.\d*0[\s,\]}]|\d[eE][-+\d]/;
/** How much of a payload stands on its line. */
const LINE_CHARACTERS = 300;
/** Up to what length JSON is spaced out on its line: what is deep and long would first grow to many times its size. */
const SPACED_CHARACTERS = 4000;
/** How much of a payload is shown in full. */
const FULL_CHARACTERS = 100_000;

/**
 * @typedef {object} Payload
 * @property {string} [text] what it is as text; `undefined` if it is none
 * @property {Uint8Array} [bytes] what it is to the byte, where the envelope has that
 * @property {unknown} [value] what it is as JSON; `undefined` if it is none
 */

/**
 * The payload on one line, as far as it fits.
 *
 * @param {string} line an envelope
 */
export function payloadLine(line) {
  const { text, bytes, value } = read(line, JSON.parse);
  if (text === undefined) return `binary, ${bytes?.length} bytes`;
  if (value === undefined || typeof value === "string") return onOneLine(text);
  if (text.length > SPACED_CHARACTERS) return onOneLine(text);
  // JavaScript does not keep every number as it was written. To keep it takes ten times as long, so it is done where it matters.
  const exact = UNUSUAL_NUMBER.test(line) ? read(line, parseExactly).value : value;
  return onOneLine(written(exact, 1)?.replace(/\n\s*/g, " ") ?? text);
}

/**
 * The payload as it is best read.
 *
 * @param {string} line an envelope
 * @returns {{ shown: string, whole: string, kind: string, size: number }} what to show, all of it if that was cut, what it is,
 * and its size in bytes
 */
export function payloadInFull(line) {
  const { text, bytes, value } = read(line, parseExactly);
  if (text === undefined) {
    const dump = hexDump(bytes ?? new Uint8Array());
    return { shown: cut(dump), whole: dump, kind: "binary", size: bytes?.length ?? 0 };
  }
  const size = bytes?.length ?? new TextEncoder().encode(text).length;
  const shown = text.length <= FULL_CHARACTERS ? written(value, 2) ?? text : text;
  return { shown: cut(shown), whole: text, kind: value === undefined ? "text" : "JSON", size };
}

/**
 * @param {string} line
 * @param {(text: string) => any} parse
 * @returns {Payload}
 */
function read(line, parse) {
  const { payload, payload_base64 } = parse(line);
  if (typeof payload_base64 !== "string") {
    if (typeof payload !== "string") return { text: JSON.stringify(payload), value: payload };
    // A string that is JSON itself stands on the bus in quotes.
    return isJson(payload) ? { text: JSON.stringify(payload), value: payload } : { text: payload };
  }
  const bytes = Uint8Array.from(atob(payload_base64), (character) => character.charCodeAt(0));
  let text;
  try {
    text = strictUtf8.decode(bytes);
    return { text, bytes, value: parse(text) };
  } catch {
    // It is not UTF-8, or not JSON, or nested more deeply than a browser reads it.
    return { text, bytes };
  }
}

/**
 * A value as JSON.
 *
 * @param {unknown} value
 * @param {number} indent by how many spaces for each level
 * @returns {string | undefined} `undefined` if it is none, or is nested too deeply to be written
 */
function written(value, indent) {
  try {
    return JSON.stringify(value, null, indent);
  } catch {
    return undefined;
  }
}

/**
 * Whether a text is JSON.
 *
 * @param {string} text
 */
export function isJson(text) {
  // Most texts that are none begin with a letter, and an error for each of them would take long.
  if (!/^[\s"{[tfn\d-]/.test(text)) return false;
  try {
    JSON.parse(text);
  } catch {
    return false;
  }
  return true;
}

/**
 * Parses JSON so that `JSON.stringify` gives back its numbers as they were written, in browsers that can do so.
 *
 * @param {string} text
 */
function parseExactly(text) {
  const json = /** @type {any} */ (JSON);
  if (json.rawJSON === undefined) return JSON.parse(text);
  return json.parse(
    text,
    (/** @type {string} */ _key, /** @type {unknown} */ value, /** @type {{ source: string }} */ { source }) =>
      typeof value === "number" ? json.rawJSON(source) : value,
  );
}

/** @param {string} text */
function onOneLine(text) {
  const start = text.length > LINE_CHARACTERS ? `${text.slice(0, LINE_CHARACTERS)}…` : text;
  // deno-lint-ignore no-control-regex
  return start.replace(/\n$/, "").replace(/\r?\n/g, "↵").replace(/[\0-\x1f\x7f-\x9f\u2028\u2029]/g, " ");
}

/** @param {string} text */
function cut(text) {
  if (text.length <= FULL_CHARACTERS) return text;
  return `${text.slice(0, FULL_CHARACTERS)}\n… cut here: ${text.length - FULL_CHARACTERS} more characters`;
}

/**
 * Bytes as `hexdump -C` writes them.
 *
 * @param {Uint8Array} bytes
 */
function hexDump(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length && at < FULL_CHARACTERS / 4; at += 16) {
    const row = [...bytes.subarray(at, at + 16)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = row.map((byte) => byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".").join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${hex.padEnd(47)}  ${text}`);
  }
  return lines.join("\n");
}
