/**
 * Removing old events from a directory for as long as a server runs.
 *
 * @module
 */
import { BusError } from "../../bus.ts";
import { messageOf } from "../../thrown.ts";
import type { Timer } from "../../time.ts";
import type { PruneLimits } from "./outdated.ts";
import { isBus, prune } from "./prune.ts";

/**
 * How long to wait from one time to the next, in milliseconds: a minute, or longer where the directory is so large that this would be
 * more than a small share of the time; but not for ever.
 */
const PERIOD_MS = 60_000;
const MAX_PERIOD_MS = 600_000;
const SHARE = 50;

/**
 * Keeps a directory within limits, from now on until it is disposed of. A directory that does not exist yet is waited for.
 *
 * @param bus the directory
 * @param limits what is to stay
 * @param log is told of what cannot be done, as sentences; it is tried again
 */
export function startRetention(bus: string, limits: PruneLimits, log: (message: string) => void): Disposable {
  const stop = new AbortController();
  let timer: Timer | undefined;
  const run = async () => {
    const began = performance.now();
    try {
      if (isBus(bus)) await prune(bus, limits, { signal: stop.signal });
    } catch (error) {
      // Where somebody else does it, such as another server of the same bus, it is done.
      const isBeingDone = error instanceof BusError && error.cause instanceof Deno.errors.Busy;
      if (!isBeingDone) log(messageOf(error));
    }
    if (stop.signal.aborted) return;
    const wait = Math.min(MAX_PERIOD_MS, Math.max(PERIOD_MS, (performance.now() - began) * SHARE));
    timer = setTimeout(run, wait);
  };
  run();
  return {
    [Symbol.dispose]() {
      stop.abort();
      clearTimeout(timer);
    },
  };
}
