/**
 * Numbers, amounts of bytes and lengths of time, as they are typed for an option.
 *
 * @module
 */
import { UsageError } from "./args.ts";

/**
 * Reads a number of things.
 *
 * @param text such as `10`
 * @param option who asks, for the error
 * @returns a whole number from 1
 * @throws {UsageError} if it is none
 */
export function parseCount(text: string, option: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : 0;
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new UsageError(`${option} takes a whole number from 1, not ${JSON.stringify(text)}`);
  }
  return count;
}

const UNIT_BYTES: Readonly<Record<string, number>> = { "": 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3 };

/**
 * Reads a number of bytes.
 *
 * @param text such as `65536`, `64K` or `1M`
 * @param option who asks, for the error
 * @returns a whole number from 1
 * @throws {UsageError} if it is none
 */
export function parseBytes(text: string, option: string): number {
  const [, digits, unit = ""] = /^(\d+)(?:([KMG])(?:i?B)?)?$/i.exec(text) ?? [];
  const bytes = digits === undefined ? 0 : Number(digits) * UNIT_BYTES[unit.toUpperCase()];
  if (!Number.isSafeInteger(bytes) || bytes < 1) {
    throw new UsageError(`${option} takes a number of bytes such as 65536, 64K or 1M, not ${JSON.stringify(text)}`);
  }
  return bytes;
}

/** The longest length of time that is read: a hundred years, so that no date goes wrong. */
const MAX_DURATION_DAYS = 36_500;

/** The longest that a timer of the platform can wait. */
const MAX_TIMER_DAYS = 24;

const DURATION = /^(\d+(?:\.\d+)?|\.\d+)(ms|s|m|h|d)?$/;
const DAY_MS = 86_400_000;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: DAY_MS };

/**
 * Reads a length of time.
 *
 * @param text such as `500ms`, `1.5s`, `2m`, `1h`, `7d`, or `5` for five seconds; a hundred years at most
 * @param option who asks, for the error
 * @returns milliseconds
 * @throws {UsageError} if it is none
 */
export function parseDuration(text: string, option: string): number {
  return parseDurationUpTo(MAX_DURATION_DAYS, text, option);
}

/**
 * Reads how old something may be. Here the unit is not left out: who means days by `30` should not lose all but 30 seconds.
 *
 * @param text such as `12h` or `7d`; a hundred years at most
 * @param option who asks, for the error
 * @returns milliseconds
 * @throws {UsageError} if it is none
 */
export function parseAge(text: string, option: string): number {
  if (!DURATION.test(text) || /\d$/.test(text)) {
    throw new UsageError(
      `${option} takes a duration with its unit, such as 12h, 7d or 365d, not ${JSON.stringify(text)}`,
    );
  }
  return parseDuration(text, option);
}

/**
 * Reads how long to wait.
 *
 * @param text as for {@linkcode parseDuration}; 24 days at most
 * @param option who asks, for the error
 * @returns milliseconds that a timer can wait
 * @throws {UsageError} if it is none
 */
export function parseTimeout(text: string, option: string): number {
  return parseDurationUpTo(MAX_TIMER_DAYS, text, option);
}

function parseDurationUpTo(days: number, text: string, option: string): number {
  const match = DURATION.exec(text);
  if (match === null) {
    throw new UsageError(`${option} takes a duration such as 500ms, 5s, 2m or 1h, not ${JSON.stringify(text)}`);
  }
  const milliseconds = Number(match[1]) * UNIT_MS[match[2] ?? "s"];
  if (milliseconds > days * DAY_MS) {
    throw new UsageError(`${option} takes at most ${days}d, not ${JSON.stringify(text)}`);
  }
  return milliseconds;
}
