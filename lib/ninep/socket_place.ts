/**
 * The place of a server's socket in the file system. The socket is made where nobody else can reach it, and put into its place
 * when its mode is right: at no moment can anybody connect whom the mode does not let. Who listens may be somebody else than
 * who puts it there, and need know no more of the file system than where the socket is made.
 *
 * @module
 */
import { BusError } from "../bus.ts";
import { reasonOf, unlessMissing } from "../os_error.ts";
import { directoryOf } from "../path.ts";

/** The longest path of a socket that systems take, in bytes, less what the name in the making adds to it. */
const MAX_SOCKET_PATH_BYTES = 100;

/** A place that is taken for a socket. Disposing of it removes the socket that was put there. */
export class SocketPlace implements Disposable {
  readonly #path: string;
  readonly #mode: number;
  readonly #directory: string;
  /** The inode of what a server has left behind, if anything. */
  readonly #stale: number | null | undefined;
  #inode: number | null | undefined;

  private constructor(path: string, mode: number, directory: string, stale: number | null | undefined) {
    this.#path = path;
    this.#mode = mode;
    this.#directory = directory;
    this.#stale = stale;
  }

  /**
   * Makes room for a socket.
   *
   * @param path where it is to be
   * @param mode who may use it, as `chmod` has it
   * @throws {BusError} if somebody listens there already, if there is something else, or if none can be made there
   */
  static async prepare(path: string, mode: number): Promise<SocketPlace> {
    if (new TextEncoder().encode(path).length > MAX_SOCKET_PATH_BYTES) {
      throw new BusError(`cannot listen at unix:${path}: the path of a socket may have ${MAX_SOCKET_PATH_BYTES} bytes`);
    }
    try {
      const stale = await staleInode(path);
      const directory = `${path.slice(0, path.lastIndexOf("/") + 1)}.${crypto.randomUUID().slice(0, 4)}`;
      Deno.mkdirSync(directory, { mode: 0o700 });
      return new SocketPlace(path, mode, directory, stale);
    } catch (error) {
      throw failure(path, error);
    }
  }

  /** The directory that the socket is made in, which is there until it is put into its place. */
  get directory(): string {
    return this.#directory;
  }

  /** Where to listen. */
  get path(): string {
    return `${this.#directory}/s`;
  }

  /**
   * Puts the socket into its place, once somebody listens. What was left behind there is put away, and what has come meanwhile
   * is not.
   *
   * @throws {BusError} if another server has been as quick, or if it cannot be put there
   */
  put(): void {
    try {
      Deno.chmodSync(this.path, this.#mode);
      const inode = Deno.lstatSync(this.path).ino;
      if (this.#stale !== undefined) putAway(this.#path, `${this.#directory}/stale`, this.#stale);
      Deno.linkSync(this.path, this.#path);
      this.#inode = inode;
    } catch (error) {
      throw failure(this.#path, error instanceof Deno.errors.AlreadyExists ? taken(this.#path) : error);
    } finally {
      this.#removeDirectory();
    }
  }

  [Symbol.dispose](): void {
    if (this.#inode === undefined) return this.#removeDirectory();
    try {
      // Somebody else's, which has taken its place, stays.
      if (unlessMissing(() => Deno.lstatSync(this.#path))?.ino === this.#inode) Deno.removeSync(this.#path);
    } catch {
      // It may not be removed any more: then the next server will find that it is nobody's.
    }
  }

  #removeDirectory(): void {
    unlessMissing(() => Deno.removeSync(this.#directory, { recursive: true }));
  }
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

/** Puts away what was found to be left behind, if that is what is still there. */
function putAway(path: string, away: string, stale: number | null): void {
  Deno.renameSync(path, away);
  if (Deno.lstatSync(away).ino === stale) return;
  // Another server has been as quick: what is there now is its socket.
  Deno.linkSync(away, path);
  throw taken(path);
}

function taken(path: string): BusError {
  return new BusError(`cannot listen at unix:${path}: another server does`);
}

function failure(path: string, error: unknown): BusError {
  if (error instanceof BusError) return error;
  return new BusError(`cannot listen at unix:${path}: ${reasonOf(error, directoryOf(path))}`, { cause: error });
}
