/**
 * Where a 9P server listens: a socket in the file system, which only those may use whom its mode lets, or a TCP port.
 *
 * @module
 */
import { BusError } from "../bus.ts";
import { reasonOf, unlessMissing } from "../os_error.ts";
import { directoryOf } from "../path.ts";
import { formatNinepAddress, type NinepAddress } from "./address.ts";

/** The longest path of a socket that systems take, in bytes, and what the name in the making adds to it. */
const MAX_SOCKET_PATH_BYTES = 100;

/** Connections come here. Disposing of it takes no more of them, and removes what stands in the file system. */
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
 * @param mode who may use a socket in the file system, as `chmod` has it
 * @throws {BusError} if somebody listens there already, or if it cannot be
 */
export async function listenAt(address: NinepAddress, mode: number): Promise<Listening> {
  try {
    return address.transport === "unix" ? await listenAtPath(address.path, mode) : listenAtPort(address);
  } catch (error) {
    if (error instanceof BusError) throw error;
    const directory = address.transport === "unix" ? directoryOf(address.path) : undefined;
    throw new BusError(`cannot listen at ${formatNinepAddress(address)}: ${reasonOf(error, directory)}`, {
      cause: error,
    });
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

async function listenAtPath(path: string, mode: number): Promise<Listening> {
  if (new TextEncoder().encode(path).length > MAX_SOCKET_PATH_BYTES) {
    throw new BusError(`cannot listen at unix:${path}: the path of a socket may have ${MAX_SOCKET_PATH_BYTES} bytes`);
  }
  const stale = await staleInode(path);
  const { listener, inode } = listenPrivately(path, mode, stale);
  return {
    address: { transport: "unix", path },
    accept: () => acceptFrom(listener),
    [Symbol.dispose]: () => {
      listener.close();
      try {
        // Somebody else's, which has taken its place, stays.
        if (unlessMissing(() => Deno.lstatSync(path))?.ino === inode) Deno.removeSync(path);
      } catch {
        // It may not be removed any more: then the next server will find that it is nobody's.
      }
    },
  };
}

/** What a server has left behind, if anything; a server that is there, and what is no socket, is refused. */
async function staleInode(path: string): Promise<number | null | undefined> {
  const there = unlessMissing(() => Deno.lstatSync(path));
  if (there === undefined) return undefined;
  if (!there.isSocket) throw new BusError(`cannot listen at unix:${path}: there is something else than a socket`);
  try {
    (await Deno.connect({ transport: "unix", path })).close();
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionRefused) return there.ino;
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  throw taken(path);
}

function taken(path: string): BusError {
  return new BusError(`cannot listen at unix:${path}: another server does`);
}

/**
 * Makes the socket where nobody else can reach it, and puts it in its place when its mode is right: at no moment can anybody
 * connect whom the mode does not let. One that was left behind is put away first, and one that has come meanwhile is not.
 */
function listenPrivately(
  path: string,
  mode: number,
  stale: number | null | undefined,
): { listener: Deno.Listener; inode: number | null } {
  const slash = path.lastIndexOf("/");
  const directory = `${path.slice(0, slash + 1)}.${crypto.randomUUID().slice(0, 4)}`;
  const socket = `${directory}/s`;
  Deno.mkdirSync(directory, { mode: 0o700 });
  try {
    const listener = Deno.listen({ transport: "unix", path: socket });
    try {
      Deno.chmodSync(socket, mode);
      const inode = Deno.lstatSync(socket).ino;
      if (stale !== undefined) putAway(path, `${directory}/stale`, stale);
      Deno.linkSync(socket, path);
      return { listener, inode };
    } catch (error) {
      listener.close();
      if (error instanceof Deno.errors.AlreadyExists) throw taken(path);
      throw error;
    }
  } finally {
    Deno.removeSync(directory, { recursive: true });
  }
}

/** Puts away what was found to be left behind, if that is what is still there. */
function putAway(path: string, away: string, stale: number | null): void {
  Deno.renameSync(path, away);
  if (Deno.lstatSync(away).ino === stale) return;
  // Another server has been as quick: what is there now is its socket.
  Deno.linkSync(away, path);
  throw taken(path);
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
