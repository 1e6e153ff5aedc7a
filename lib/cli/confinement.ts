/**
 * A server that reads what strangers send runs confined: in a worker that holds permission for nothing but its bus and the
 * addresses where it listens, so that a hole in what reads their messages is no way to the rest of the disk or the network.
 * This is both ends of it: the process that starts the worker, and the worker.
 *
 * @module
 */
import type { Timer } from "../time.ts";
import { CommandError } from "./args.ts";
import { complain, reportFailure } from "./failure.ts";
import { type Reach, workerFor } from "./reach.ts";
import { INTERRUPTED } from "./signals.ts";

/** How long the worker may take to end, in milliseconds: more than it gives its connections. */
const END_MS = 10_000;

/** What the worker tells the process. */
type Report = { readonly listening: readonly string[] } | { readonly ended: number };

/** How a confined server is started. */
export interface Confinement<Settings> {
  /** The program and subcommand, such as `ollie hub`, for what is said on standard error. */
  readonly who: string;
  /** The worker's module, which calls {@linkcode serveConfined}. */
  readonly module: URL;
  /** What the worker may reach. */
  readonly reach: Reach;
  /** What the worker is told. */
  readonly settings: Settings;
  /** Resolves when the server is to end. To be waited for from before anything is made that is to be removed in the end. */
  readonly signal: Promise<Deno.Signal>;
  /** Called when it listens, with where it does, unless it is ending by then; what it throws ends the server. */
  readonly listening: (addresses: readonly string[]) => Promise<void>;
}

/**
 * Runs a server in a worker, until it ends or a signal ends it.
 *
 * @returns the exit status
 */
export async function runConfined<Settings>(confinement: Confinement<Settings>): Promise<number> {
  const { who, module, reach, settings, signal, listening } = confinement;
  const worker = workerFor(module, reach);
  let overdue: Timer | undefined;
  try {
    const ended = Promise.withResolvers<number>();
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      complain(who, `internal error: ${event.message}`);
      ended.resolve(1);
    });
    const { port1: port, port2: remote } = new MessageChannel();
    let starting = true;
    port.onmessage = async ({ data }: MessageEvent<Report>) => {
      if ("ended" in data) return ended.resolve(data.ended);
      // Where it listened, it may do so no longer; and what has broken into it is not to have this done again.
      if (!starting) return;
      starting = false;
      try {
        await listening(data.listening);
      } catch (error) {
        ended.reject(error);
      }
    };
    worker.postMessage(settings, [remote]);
    const first = await Promise.race([signal, ended.promise]);
    if (typeof first === "number") return first;
    starting = false;
    port.postMessage("stop");
    overdue = setTimeout(() => {
      const error = new CommandError(`the server did not end within ${END_MS / 1000} seconds, and was made to`);
      ended.resolve(reportFailure(who, error));
    }, END_MS);
    const status = await ended.promise;
    return status === 0 && first === "SIGINT" ? INTERRUPTED : status;
  } finally {
    clearTimeout(overdue);
    worker.terminate();
  }
}

/** What a confined server has to do with the process that started it. */
export interface Supervisor {
  /** Resolves when the server is to end. */
  readonly stopped: Promise<void>;
  /** Tells where the server listens, once it does. */
  listening(addresses: readonly string[]): void;
}

/**
 * Serves, in a worker that {@linkcode runConfined} has started, as it was told.
 *
 * @param who the program and subcommand, for what is said on standard error
 * @param serve the server; when it returns, all has ended, and what it throws is reported as that of a subcommand is
 */
export function serveConfined<Settings>(
  who: string,
  serve: (settings: Settings, supervisor: Supervisor) => Promise<void>,
): void {
  globalThis.addEventListener("message", async (event) => {
    if (!(event instanceof MessageEvent)) return;
    const [port] = event.ports;
    const report = (report: Report) => port.postMessage(report);
    const fail = (error: unknown) => report({ ended: reportFailure(who, error) });
    const failed = (event: Event, error: unknown) => {
      event.preventDefault();
      fail(error);
    };
    globalThis.addEventListener("error", (event) => failed(event, event.error));
    globalThis.addEventListener("unhandledrejection", (event) => failed(event, event.reason));
    const stopped = Promise.withResolvers<void>();
    port.onmessage = () => stopped.resolve();
    try {
      await serve(event.data, { stopped: stopped.promise, listening: (addresses) => report({ listening: addresses }) });
      report({ ended: 0 });
    } catch (error) {
      fail(error);
    }
  }, { once: true });
}
