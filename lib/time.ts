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
 */
export const systemClock: Clock = () => {
  const coarse = Date.now();
  let fine = origin + performance.now();
  if (Math.abs(fine - coarse) > TOLERANCE_MS) {
    origin += coarse - fine;
    fine = coarse;
  }
  const whole = Math.floor(fine);
  return BigInt(whole) * 1_000_000n + BigInt(Math.floor((fine - whole) * 1_000_000));
};

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
 * @param moment nanoseconds since 1970-01-01T00:00:00Z
 * @returns such as `2026-05-08T12:34:56.123456789Z`
 */
export function formatTime(moment: bigint): string {
  const millisecond = new Date(Number(moment / 1_000_000n)).toISOString();
  return `${millisecond.slice(0, -1)}${String(moment % 1_000_000n).padStart(6, "0")}Z`;
}
