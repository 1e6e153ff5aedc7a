// @ts-check
/// <reference lib="dom" />
/**
 * The chart of events a second, and the figures beside it, which say the same in words.
 *
 * @module
 */
import { part, setText } from "./parts.js";
import { countText, rateText, things } from "./words.js";

/** How many seconds it shows: as many as the chart is units wide. */
export const SECONDS = 120;
/** How high the chart is, in its own units. */
const HEIGHT = 100;
/** A second with an event is never so low that it cannot be seen. */
const LOWEST = 3;

const chart = part("chart", SVGSVGElement);
const bars = part("chart-bars", SVGPathElement);
const away = part("chart-away", SVGPathElement);
const scaleTop = part("scale-top", HTMLElement);
const scaleMiddle = part("scale-middle", HTMLElement);
const now = part("rate-now", HTMLElement);
const mean = part("rate-mean", HTMLElement);
const peak = part("rate-peak", HTMLElement);

/**
 * Draws it.
 *
 * @param {(number | undefined)[]} counts the last seconds, the oldest first; `undefined` where nothing is known
 */
export function drawChart(counts) {
  const known = counts.filter((count) => count !== undefined);
  const highest = Math.max(0, ...known);
  const average = known.length === 0 ? 0 : known.reduce((sum, count) => sum + count, 0) / known.length;
  const latest = counts.at(-1) ?? 0;
  const top = roundUp(highest);

  bars.setAttribute("d", counts.map((count, at) => bar(at, count ?? 0, top)).join(""));
  // What came before the page was opened is empty; what was missed after that is marked.
  const first = counts.findIndex((count) => count !== undefined);
  away.setAttribute(
    "d",
    counts.map((count, at) => first >= 0 && at > first && count === undefined ? gap(at) : "").join(""),
  );
  setText(scaleTop, countText(top));
  setText(scaleMiddle, top % 2 === 0 ? countText(top / 2) : "");
  setText(now, countText(latest));
  setText(mean, rateText(average));
  setText(peak, countText(highest));
  const label = `Events a second over the last two minutes: ${things(latest, "event")} in the last second, ` +
    `${rateText(average)} on average, ${countText(highest)} at most`;
  if (chart.getAttribute("aria-label") !== label) chart.setAttribute("aria-label", label);
}

/**
 * @param {number} at
 * @param {number} count
 * @param {number} top
 */
function bar(at, count, top) {
  if (count === 0) return "";
  const height = Math.max(LOWEST, count / top * HEIGHT);
  return `M${at + 0.1} ${HEIGHT}V${(HEIGHT - height).toFixed(1)}h0.8V${HEIGHT}Z`;
}

/** @param {number} at */
function gap(at) {
  return `M${at} ${HEIGHT}V0h1V${HEIGHT}Z`;
}

/**
 * The end of the scale: a round number, and not so small that a single event fills the chart.
 *
 * @param {number} highest
 */
function roundUp(highest) {
  for (let power = 1;; power *= 10) {
    for (const step of [1, 2, 4, 6, 8]) {
      if (step * power >= Math.max(highest, 4)) return step * power;
    }
  }
}
