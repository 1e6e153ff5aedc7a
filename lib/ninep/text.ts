/**
 * A message as a line for people: its name and its fields, as the manual's pages have them, such as
 * `Tread tag 1 fid 2 offset 0 count 8192`.
 *
 * @module
 */
import { DMDIR, type Message, type Qid, QTDIR } from "./message.ts";

/** How many bytes of data are shown. */
const MOST_DATA = 200;

/**
 * Writes a message as a line.
 *
 * A qid is `(path version d)` for a directory and `(path version -)` for a file, a mode is octal, and data are text in quotes.
 *
 * @param message any message
 *
 * @example
 * ```ts
 * import { formatMessage } from "./text.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(
 *   formatMessage({ type: "Twalk", tag: 1, fid: 0, newfid: 2, wname: ["event"] }),
 *   'Twalk tag 1 fid 0 newfid 2 wname ["event"]',
 * );
 * ```
 */
export function formatMessage({ type, ...fields }: Message): string {
  return `${type} ${formatFields(fields)}`;
}

function formatFields(fields: object): string {
  return Object.entries(fields).map(([name, value]) => `${name} ${formatValue(name, value)}`).join(" ");
}

function formatValue(name: string, value: number | bigint | string | Uint8Array | object): string {
  switch (typeof value) {
    case "number":
      return name === "mode" || name === "perm" ? formatMode(value) : String(value);
    case "bigint":
      return String(value);
    case "string":
      return JSON.stringify(value);
  }
  if (value instanceof Uint8Array) return formatData(value);
  if (Array.isArray(value)) return `[${value.map((element) => formatValue("", element)).join(" ")}]`;
  return isQid(value) ? formatQid(value) : `{${formatFields(value)}}`;
}

function isQid(value: object): value is Qid {
  return "path" in value;
}

function formatQid({ path, version, type }: Qid): string {
  return `(${path} ${version} ${type === QTDIR ? "d" : type === 0 ? "-" : type})`;
}

/** The bits of permission in octal, and `d` before those of a directory. */
function formatMode(mode: number): string {
  const directory = (mode & DMDIR) !== 0;
  return `${directory ? "d" : ""}${((mode & ~DMDIR) >>> 0).toString(8)}`;
}

function formatData(data: Uint8Array): string {
  const shown = JSON.stringify(new TextDecoder().decode(data.subarray(0, MOST_DATA)));
  return data.length > MOST_DATA ? `${shown}... (${data.length} bytes)` : shown;
}
