/**
 * Moments, in whole nanoseconds since 1970-01-01T00:00:00Z. An event's time names its place in the order of events, so
 * two events of one process must never share one; the platform's own clock counts milliseconds and can step back.
 *
 * @module
 */

/** A source of moments: nanoseconds since 1970-01-01T00:00:00Z. Tests put their own in place of {@linkcode systemClock}. */
export type Clock = () => bigint;

/** What `setTimeout` returns: a number or an object, as the release of Deno has it. */
export type Timer = ReturnType<typeof setTimeout>;

/** How far the two clocks may disagree before the fine one is set anew by the coarse one. */
const TOLERANCE_MS = 2;

let origin = performance.timeOrigin;

/**
 * The time now.
 *
 * `Date.now()` follows the system's clock but counts whole milliseconds; `performance.now()` is finer, but stands still
 * while the machine sleeps and knows nothing of a clock that was set. So the fine one gives the digits, and starts again
 * from the coarse one whenever the two have parted.
 *
 * @returns nanoseconds since 1970-01-01T00:00:00Z, fine to a microsecond or so
 *
 * @example
 * ```ts
 * import { formatTime, systemClock } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * assert(formatTime(systemClock()) > "2026-05-08T12:34:56.123456789Z");
 * ```
 */
export function systemClock(): bigint {
  const coarse = Date.now();
  let fine = origin + performance.now();
  if (Math.abs(fine - coarse) > TOLERANCE_MS) {
    origin += coarse - fine;
    fine = coarse;
  }
  const whole = Math.floor(fine);
  return BigInt(whole) * 1_000_000n + BigInt(Math.floor((fine - whole) * 1_000_000));
}

/**
 * A clock that never repeats itself and never goes back: where the given one does, it takes the next nanosecond.
 *
 * @param clock what to read
 */
export function increasing(clock: Clock): Clock {
  let last = -1n;
  return () => {
    const now = clock();
    last = now > last ? now : last + 1n;
    return last;
  };
}

/**
 * Writes a moment as RFC 3339 has it, which `new Date()`, `jq`, Go and Python all read.
 *
 * @param moment nanoseconds since 1970-01-01T00:00:00Z, not before it
 * @returns such as `2026-05-08T12:34:56.123456789Z`
 *
 * @example
 * ```ts
 * import { formatTime } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * assert.equal(formatTime(1_778_243_696_123_456_789n), "2026-05-08T12:34:56.123456789Z");
 * ```
 */
export function formatTime(moment: bigint): string {
  const seconds = Number(moment / 1_000_000_000n);
  if (seconds !== lastSecond) {
    lastSecond = seconds;
    lastSecondText = formatSecond(seconds);
  }
  return `${lastSecondText}.${digits(Number(moment % 1_000_000_000n), 9)}Z`;
}

/** Moments come one after another: most are of the second that was written last. */
let lastSecond = -1;
let lastSecondText = "";

function formatSecond(seconds: number): string {
  const days = Math.floor(seconds / 86_400);
  const [year, month, day] = civilDate(days);
  const second = seconds - days * 86_400;
  const date = `${digits(year, 4)}-${digits(month, 2)}-${digits(day, 2)}`;
  const time = `${digits(Math.floor(second / 3600), 2)}:${digits(Math.floor(second / 60) % 60, 2)}:${
    digits(second % 60, 2)
  }`;
  return `${date}T${time}`;
}

function digits(number: number, width: number): string {
  return String(number).padStart(width, "0");
}

/**
 * The date so many days after 1970-01-01. `Date` knows it, too, but takes a third of a millisecond to be used for the first
 * time, which is more than a process that publishes one event spends on writing it.
 */
function civilDate(days: number): [year: number, month: number, day: number] {
  // Years are counted from March here, so that the leap day is the last of its year, and in eras of 400 years, which are alike.
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  return [era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day];
}
