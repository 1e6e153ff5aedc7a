// @ts-check
/**
 * Numbers and times as people read them.
 *
 * @module
 */
const grouped = new Intl.NumberFormat("en");

/**
 * A number of things.
 *
 * @param {number} count
 */
export function countText(count) {
  return grouped.format(count);
}

/**
 * A number of things and what they are.
 *
 * @param {number} count
 * @param {string} thing in the singular
 */
export function things(count, thing) {
  return `${grouped.format(count)} ${thing}${count === 1 ? "" : "s"}`;
}

/**
 * A number of events a second: with a decimal as long as that says anything.
 *
 * @param {number} rate
 */
export function rateText(rate) {
  return rate === 0 || rate >= 100 ? grouped.format(Math.round(rate)) : rate.toFixed(1);
}

/**
 * How long ago something was.
 *
 * @param {number} milliseconds
 */
export function agoText(milliseconds) {
  const seconds = milliseconds / 1000;
  if (seconds < 1.5) return "now";
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 100 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${grouped.format(Math.round(seconds / 86400))} d`;
}

/**
 * A size in bytes.
 *
 * @param {number} bytes
 */
export function sizeText(bytes) {
  if (bytes < 1024) return things(bytes, "byte");
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/**
 * The milliseconds since 1970 of a time on the bus, which has more digits than every browser reads.
 *
 * @param {string} time ISO 8601
 */
export function millisecondsOf(time) {
  return Date.parse(time.replace(/(\.\d{3})\d*/, "$1"));
}

/**
 * The time of day, to the millisecond, where the reader is; of another day, the day and the time to the second.
 *
 * @param {number} milliseconds since 1970
 * @param {number} now the same
 */
export function clockText(milliseconds, now) {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return "?";
  const day = [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(":");
  if (date.toDateString() === new Date(now).toDateString()) {
    return `${day}.${String(date.getMilliseconds()).padStart(3, "0")}`;
  }
  return `${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())} ${day}`;
}

/** @param {number} number */
function twoDigits(number) {
  return String(number).padStart(2, "0");
}
