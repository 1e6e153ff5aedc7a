/**
 * The signals that end what does not end by itself, or takes its time.
 *
 * @module
 */

/** The exit status of what an interruption ended, as shells have it. */
export const INTERRUPTED = 130;

/** Waits for SIGINT or SIGTERM. The next one after it has its usual effect. */
export function firstSignal(): Promise<Deno.Signal> {
  const { promise, resolve } = Promise.withResolvers<Deno.Signal>();
  const listeners = (["SIGINT", "SIGTERM"] as const).map((signal) => [signal, () => resolve(signal)] as const);
  for (const [signal, listener] of listeners) Deno.addSignalListener(signal, listener);
  return promise.finally(() => {
    for (const [signal, listener] of listeners) Deno.removeSignalListener(signal, listener);
  });
}
