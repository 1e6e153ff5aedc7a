/**
 * Where a 9P server listens: a socket in the file system, or a TCP port.
 *
 * @module
 */
import { BusError } from "../bus.ts";
import { reasonOf } from "../os_error.ts";
import { formatNinepAddress, type NinepAddress } from "./address.ts";
import { SocketPlace } from "./socket_place.ts";

/** Connections come here. Disposing of it takes no more of them. */
export interface Listening extends Disposable {
  /** Where it listens: with the port that was given, if any was asked for. */
  readonly address: NinepAddress;
  /** The next connection; `undefined` once there will be no more. */
  accept(): Promise<Deno.Conn | undefined>;
}

/**
 * Begins to listen; a socket in the file system is there once those can connect whom its mode lets, and is removed in the end.
 *
 * @param address where
 * @param mode who may use a socket in the file system, as `chmod` has it
 * @throws {BusError} if somebody listens there already, or if it cannot be
 */
export async function listenAt(address: NinepAddress, mode: number): Promise<Listening> {
  if (address.transport === "tcp") return listen(address);
  const place = await SocketPlace.prepare(address.path, mode);
  const all = new DisposableStack();
  try {
    all.use(place);
    const listening = all.use(listen({ transport: "unix", path: place.path }));
    place.put();
    return { address, accept: listening.accept, [Symbol.dispose]: () => all.dispose() };
  } catch (error) {
    all.dispose();
    throw error;
  }
}

/**
 * Begins to listen, for whoever has made sure that a socket in the file system can be where it is to be.
 *
 * @param address where
 * @throws {BusError} if it cannot be
 */
export function listen(address: NinepAddress): Listening {
  try {
    return address.transport === "unix" ? listenAtPath(address.path) : listenAtPort(address);
  } catch (error) {
    throw new BusError(`cannot listen at ${formatNinepAddress(address)}: ${reasonOf(error)}`, { cause: error });
  }
}

function listenAtPort({ hostname, port }: NinepAddress & { transport: "tcp" }): Listening {
  const listener = Deno.listen({ hostname, port });
  return {
    address: { transport: "tcp", hostname, port: listener.addr.port },
    accept: async () => {
      const connection = await acceptFrom(listener);
      connection?.setNoDelay();
      return connection;
    },
    [Symbol.dispose]: () => listener.close(),
  };
}

function listenAtPath(path: string): Listening {
  const listener = Deno.listen({ transport: "unix", path });
  return {
    address: { transport: "unix", path },
    accept: () => acceptFrom(listener),
    [Symbol.dispose]: () => listener.close(),
  };
}

async function acceptFrom<Connection extends Deno.Conn>(
  listener: { accept(): Promise<Connection> },
): Promise<Connection | undefined> {
  try {
    return await listener.accept();
  } catch (error) {
    if (error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted) return undefined;
    throw error;
  }
}
