/**
 * The part of `ollie serve9p` that reads what clients send: the worker that it runs in may reach the bus and nothing else.
 *
 * @module
 */
import { startRetention } from "../bus/directory/retention.ts";
import { BusError } from "../bus.ts";
import type { NatsOptions } from "../bus/nats/options.ts";
import { formatNinepAddress, type NinepAddress } from "../ninep/address.ts";
import { listen, type Listening } from "../ninep/listen.ts";
import type { NinepServerOptions } from "../ninep/server.ts";
import { serveListening } from "../ninep/serve.ts";
import { serveConfined } from "./confinement.ts";
import { complain } from "./failure.ts";
import { holderOf } from "./holder.ts";
import type { Retained } from "./limits.ts";
import { openServedBus } from "./served_bus.ts";

/** What is to be served, and how. */
export interface NinepSettings {
  /** The bus's address. */
  readonly bus: string;
  /** What that does not say. */
  readonly busOptions: NatsOptions;
  /** Where to listen. */
  readonly listen: readonly NinepAddress[];
  /** How many connections there may be. */
  readonly maxConnections: number;
  /** How many fids a connection may have. */
  readonly maxFids: number;
  /** What is to stay in the bus, if that is a directory from which old events are removed. */
  readonly retained: Retained | undefined;
  /** Whether to print each message on standard error. */
  readonly debug: boolean;
}

const say = (message: string) => complain("ollie serve9p", message);

serveConfined<NinepSettings>(
  "ollie serve9p",
  async ({ bus, busOptions, listen: addresses, retained, debug, ...limits }, supervisor) => {
    await using carrier = await openServedBus(bus, busOptions);
    using _retention = retained && startRetention(retained.path, retained.limits, say);
    const trace = debug ? await traceOnStandardError() : undefined;
    const places: Listening[] = [];
    for (const address of addresses) places.push(await listenOrNameHolder(address));
    await using serving = serveListening(carrier, places, { ...limits, trace, log: say });
    supervisor.listening(serving.addresses);
    await supervisor.stopped;
  },
);

/** Listens there; where that is in use, the error says who might hold it. */
async function listenOrNameHolder(address: NinepAddress): Promise<Listening> {
  try {
    return listen(address);
  } catch (error) {
    const inUse = error instanceof BusError && error.cause instanceof Deno.errors.AddrInUse;
    if (!inUse || address.transport !== "tcp") throw error;
    const holder = await holderOf(address.hostname, address.port);
    throw new BusError(`cannot listen at ${formatNinepAddress(address)}: the address is in use, ${holder}`, {
      cause: error,
    });
  }
}

async function traceOnStandardError(): Promise<NinepServerOptions["trace"]> {
  const { formatMessage } = await import("../ninep/text.ts");
  return (connection, direction, message) => {
    const marked = direction === "<-" ? `<-${connection}-` : `-${connection}->`;
    console.error(`${marked} ${formatMessage(message)}`);
  };
}
