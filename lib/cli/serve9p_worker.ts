/**
 * The part of `ollie serve9p` that reads what clients send: the worker that it runs in may reach the bus and nothing else.
 *
 * @module
 */
import { formatNinepAddress, type NinepAddress } from "../ninep/address.ts";
import { listenAt, type Listening } from "../ninep/listen.ts";
import { NinepServer, type NinepServerOptions } from "../ninep/server.ts";
import { EventTree } from "../ninep/tree.ts";
import { openBus } from "../open.ts";
import { reasonOf } from "../os_error.ts";
import { serveConfined } from "./confinement.ts";
import { complain } from "./failure.ts";

/** What is to be served, and how. */
export interface NinepSettings {
  /** The bus's address. */
  readonly bus: string;
  /** Where to listen. */
  readonly listen: readonly NinepAddress[];
  /** How many connections there may be. */
  readonly maxConnections: number;
  /** How many fids a connection may have. */
  readonly maxFids: number;
  /** Whether to print each message on standard error. */
  readonly debug: boolean;
}

/** How long to wait before a connection is accepted again after that has failed, in milliseconds. */
const RETRY_MS = 100;

const say = (message: string) => complain("ollie serve9p", message);

serveConfined<NinepSettings>("ollie serve9p", async (settings, supervisor) => {
  const { listen, maxConnections, maxFids, debug } = settings;
  await using bus = await openBus(settings.bus);
  const tree = new EventTree(bus, {
    stats: () => ({ connections: server.connections, fids: server.fids }),
  });
  const trace = debug ? await traceOnStandardError() : undefined;
  const server: NinepServer = new NinepServer(tree.root, { maxFids, trace, log: say });
  using listening = new DisposableStack();
  const places = listen.map((address) => listening.use(listenAt(address)));
  const accepting = places.map((place) => acceptAll(place, server, maxConnections));
  supervisor.listening(places.map(({ address }) => formatNinepAddress(address)));

  await supervisor.stopped;
  listening.dispose();
  await Promise.all(accepting);
  await server.close();
});

/** Serves all that connect, until there will be no more. */
async function acceptAll(place: Listening, server: NinepServer, maxConnections: number): Promise<void> {
  for (;;) {
    try {
      const connection = await place.accept();
      if (connection === undefined) return;
      if (server.connections < maxConnections) {
        server.serve(connection);
      } else {
        connection.close();
        say(`refused a connection: there are ${maxConnections}, as many as may be`);
      }
    } catch (error) {
      say(`cannot accept a connection: ${reasonOf(error)}`);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

async function traceOnStandardError(): Promise<NinepServerOptions["trace"]> {
  const { formatMessage } = await import("../ninep/text.ts");
  return (connection, direction, message) => {
    const marked = direction === "<-" ? `<-${connection}-` : `-${connection}->`;
    console.error(`${marked} ${formatMessage(message)}`);
  };
}
