/** What an operation costs: measured several times, each time when the machine has nothing else to do, as far as that comes about. */
import { median } from "../measure.ts";

/** How often each figure is measured. */
const ROUNDS = 5;

/** How long to watch what others do, and for how long at most to wait for them, in milliseconds. */
const WATCH_MS = 500;
const PATIENCE_MS = 15_000;

/** How much of all cores must be idle. */
const IDLE = 0.75;

/** A line of the table. */
export interface Cost {
  readonly what: string;
  readonly unit: string;
  /** As often as it was measured. */
  readonly values: readonly number[];
}

let begun = 0;
let disturbed = 0;

/**
 * Measures several figures, several times. The first time is for the compilers and is not counted.
 *
 * @param rows what is measured, and its unit
 * @param work measures each of them once, in that order
 * @param rounds how often
 */
export async function repeated(
  rows: readonly (readonly [what: string, unit: string])[],
  work: () => Promise<readonly number[]>,
  rounds = ROUNDS,
): Promise<Cost[]> {
  const all: (readonly number[])[] = [];
  for (let round = 0; round <= rounds; round++) {
    await quiet();
    const measured = await work();
    if (round > 0) all.push(measured);
  }
  return rows.map(([what, unit], at) => ({ what, unit, values: all.map((measured) => measured[at]) }));
}

/** Waits until the machine is idle, for a while at most. */
export async function quiet(): Promise<void> {
  begun++;
  for (const since = performance.now();;) {
    const before = coreTimes();
    await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
    const after = coreTimes();
    if ((after.idle - before.idle) / (after.all - before.all) >= IDLE) return;
    if (performance.now() - since < PATIENCE_MS) continue;
    disturbed++;
    return;
  }
}

/** How many measurements there were, and how many of them began while others kept the machine busy. */
export function disturbance(): string {
  return `${disturbed} of ${begun} measurements began on a machine that others kept busy`;
}

/** A median, and between what the figures lay. */
export function shown(values: readonly number[]): string {
  const figure = (value: number) => Number(value.toPrecision(value >= 100 ? 3 : 2)).toLocaleString("en");
  return `${figure(median(values))} (${figure(Math.min(...values))} to ${figure(Math.max(...values))})`;
}

function coreTimes(): { idle: number; all: number } {
  const [line] = Deno.readTextFileSync("/proc/stat").split("\n");
  const times = line.split(/\s+/).slice(1, 9).map(Number);
  return { idle: times[3] + times[4], all: times.reduce((sum, time) => sum + time, 0) };
}
