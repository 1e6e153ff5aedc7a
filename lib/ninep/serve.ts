/**
 * A bus as files, for whoever can mount them or speaks 9P: where the server listens, and whom it lets in.
 *
 * @module
 */
import type { Bus } from "../bus.ts";
import { reasonOf } from "../os_error.ts";
import { formatNinepAddress, parseNinepAddress } from "./address.ts";
import { listenAt, type Listening } from "./listen.ts";
import { NinepServer, type NinepServerOptions } from "./server.ts";
import { EventTree } from "./tree.ts";

/** How {@linkcode serve9p} may differ from the usual. */
export interface Serve9pOptions {
  /** Who may use the socket of a `unix:PATH`, as `chmod` has it. `0o600` if not given: the user whose process this is. */
  readonly mode?: number;
  /** How many connections there may be; those that come then are closed at once. 1,000 if not given. */
  readonly maxConnections?: number;
  /** How many fids one connection may have. 16,384 if not given. */
  readonly maxFids?: number;
  /** Takes what whoever runs the server should know, as sentences. Nothing is done with them if not given. */
  readonly log?: (message: string) => void;
}

/** A server that {@linkcode serve9p} has begun. Disposing of it ends its connections, and removes its sockets. */
export interface Serving9p extends AsyncDisposable {
  /** Where it listens, as `openBus` takes it: in the order in which it was told, with the ports that it was given. */
  readonly addresses: readonly string[];
}

/** How long to wait before a connection is accepted again after that has failed, in milliseconds. */
const RETRY_MS = 100;

/**
 * Serves a bus over 9P2000 and 9P2000.u, as `ollie serve9p` does: the files `event`, `event.json`, `pub`, `pub.json` and `stats`.
 *
 * 9P has no authentication here: whoever can connect can read and publish. A TCP port that other machines reach is for a network
 * in which all may.
 *
 * @param bus what is served; it stays the caller's
 * @param address where to listen, once or several times: `unix:PATH`, `tcp:HOST:PORT`, or `tcp:PORT` for this machine alone; the
 * port 0 stands for any that is free
 * @param options how it differs from the usual
 * @returns once all of them can be connected to
 * @throws {BusError} if one of them is no such address, or somebody listens there already, or it cannot be listened at
 *
 * @example
 * ```ts
 * import { MemoryBus, NinepBus, serve9p } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * await using bus = new MemoryBus();
 * await using serving = await serve9p(bus, "tcp:127.0.0.1:0");
 *
 * // In another program, or as a mount.
 * await using there = new NinepBus(serving.addresses[0]);
 * await using colors = there.subscribe("color");
 * await colors.ready;
 * await bus.publish("color", "red");
 * const { value } = await colors.next();
 * assert.equal(new TextDecoder().decode(value?.payload), "red");
 * ```
 */
export async function serve9p(
  bus: Bus,
  address: string | readonly string[],
  options: Serve9pOptions = {},
): Promise<Serving9p> {
  const { mode = 0o600 } = options;
  const places: Listening[] = [];
  try {
    for (const one of typeof address === "string" ? [address] : address) {
      places.push(await listenAt(parseNinepAddress(one), mode));
    }
  } catch (error) {
    places.forEach((place) => place[Symbol.dispose]());
    throw error;
  }
  return serveListening(bus, places, options);
}

/**
 * Serves a bus where somebody listens already.
 *
 * @param bus what is served; it stays the caller's
 * @param places where clients connect; they are disposed of in the end
 * @param options how it differs from the usual, but for `mode`; and what is shown each message, if anybody is
 */
export function serveListening(
  bus: Bus,
  places: readonly Listening[],
  options: Serve9pOptions & Pick<NinepServerOptions, "trace">,
): Serving9p {
  const { maxConnections = 1000, maxFids, trace, log = () => {} } = options;
  const tree = new EventTree(bus, { stats: () => ({ connections: server.connections, fids: server.fids }) });
  const server: NinepServer = new NinepServer(tree.root, { maxFids, trace, log });
  const listening = new DisposableStack();
  places.forEach((place) => listening.use(place));
  const accepting = places.map((place) => acceptAll(place, { server, maxConnections, log }));
  return {
    addresses: places.map((place) => formatNinepAddress(place.address)),
    async [Symbol.asyncDispose]() {
      listening.dispose();
      await Promise.all(accepting);
      await server.close();
    },
  };
}

/** Whom to let in, and who is told of what goes wrong. */
interface Accepting {
  readonly server: NinepServer;
  readonly maxConnections: number;
  readonly log: (message: string) => void;
}

/** Serves all that connect, until there will be no more. */
async function acceptAll(place: Listening, { server, maxConnections, log }: Accepting): Promise<void> {
  for (;;) {
    try {
      const connection = await place.accept();
      if (connection === undefined) return;
      if (server.connections < maxConnections) {
        server.serve(connection);
      } else {
        connection.close();
        log(`refused a connection: there are ${maxConnections}, as many as may be`);
      }
    } catch (error) {
      log(`cannot accept a connection: ${reasonOf(error)}`);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
