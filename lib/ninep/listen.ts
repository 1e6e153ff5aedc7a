/**
 * Where a 9P server listens: a socket in the file system, or a TCP port.
 *
 * @module
 */
import { BusError } from "../bus.ts";
import { reasonOf } from "../os_error.ts";
import { formatNinepAddress, type NinepAddress } from "./address.ts";

/** Connections come here. Disposing of it takes no more of them. */
export interface Listening extends Disposable {
  /** Where it listens: with the port that was given, if any was asked for. */
  readonly address: NinepAddress;
  /** The next connection; `undefined` once there will be no more. */
  accept(): Promise<Deno.Conn | undefined>;
}

/**
 * Begins to listen.
 *
 * @param address where
 * @throws {BusError} if it cannot be; the `cause` is what the system said
 */
export function listenAt(address: NinepAddress): Listening {
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
