/**
 * Where a 9P server listens: a socket in the file system, which only those may use whom its mode lets, or a TCP port.
 *
 * @module
 */
import { BusError } from "../bus.ts";
import { reasonOf, unlessMissing } from "../os_error.ts";
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

async function listenAtPath(path: string, mode: number): Promise<Listening> {
  if (new TextEncoder().encode(path).length > MAX_SOCKET_PATH_BYTES) {
    throw new BusError(`cannot listen at unix:${path}: the path of a socket may have ${MAX_SOCKET_PATH_BYTES} bytes`);
  }
  const stale = await isStale(path);
  const { listener, inode } = listenPrivately(path, mode, stale);
  return {
    address: { transport: "unix", path },
    accept: () => acceptFrom(listener),
    [Symbol.dispose]: () => {
      listener.close();
      // Somebody else's, which has taken its place, stays.
      if (unlessMissing(() => Deno.lstatSync(path))?.ino === inode) Deno.removeSync(path);
    },
  };
}

/** Whether there is what a server has left behind; a server that is there, and what is no socket, is refused. */
async function isStale(path: string): Promise<boolean> {
  const there = unlessMissing(() => Deno.lstatSync(path));
  if (there === undefined) return false;
  if (!there.isSocket) throw new BusError(`cannot listen at unix:${path}: there is something else than a socket`);
  try {
    (await Deno.connect({ transport: "unix", path })).close();
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionRefused) return true;
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
  throw taken(path);
}

function taken(path: string): BusError {
  return new BusError(`cannot listen at unix:${path}: another server does`);
}

/**
 * Makes the socket where nobody else can reach it, and puts it in its place when its mode is right: at no moment can anybody
 * connect whom the mode does not let. A socket that was left behind is replaced in one step; where there was none, one that has
 * come meanwhile is not.
 */
function listenPrivately(
  path: string,
  mode: number,
  stale: boolean,
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
      if (stale) Deno.renameSync(socket, path);
      else Deno.linkSync(socket, path);
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
