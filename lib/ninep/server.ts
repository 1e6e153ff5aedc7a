/**
 * A 9P2000 and 9P2000.u server: it serves a tree of files, over any stream of bytes, to any number of connections at once.
 *
 * @module
 */
import { Errno, NinepError } from "./error.ts";
import type { Directory } from "./file.ts";
import type { ByteStream } from "./frames.ts";
import type { Message } from "./message.ts";
import { Session } from "./session.ts";

/** How a {@linkcode NinepServer} may differ from the usual. */
export interface NinepServerOptions {
  /** The longest message that is agreed to, in bytes. 1 MiB if not given. */
  readonly maxMessageBytes?: number;
  /** How many fids one connection may have. 16,384 if not given. */
  readonly maxFids?: number;
  /** Is told of each message, and of the connection that it belongs to: they are counted from 1. */
  readonly trace?: (connection: number, direction: "<-" | "->", message: Message) => void;
  /** Is told, in a sentence, why the server ended a connection, or of a fault in it. By default that goes nowhere. */
  readonly log?: (message: string) => void;
}

/**
 * Serves a tree of files.
 *
 * @example
 * ```ts
 * import { MemoryBus } from "../bus/memory.ts";
 * import { NinepServer } from "./server.ts";
 * import { EventTree } from "./tree.ts";
 *
 * await using bus = new MemoryBus();
 * const server = new NinepServer(new EventTree(bus).root);
 * using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
 * listener.accept().then((connection) => server.serve(connection), () => {});
 * await server.close();
 * ```
 */
export class NinepServer {
  readonly #root: Directory;
  readonly #options: NinepServerOptions;
  readonly #sessions = new Set<Session>();
  #served = 0;

  /**
   * @param root what is served
   * @param options how the server differs from the usual
   */
  constructor(root: Directory, options: NinepServerOptions = {}) {
    this.#root = root;
    this.#options = options;
  }

  /** How many connections there are. */
  get connections(): number {
    return this.#sessions.size;
  }

  /** How many fids they have. */
  get fids(): number {
    let fids = 0;
    for (const session of this.#sessions) fids += session.fids;
    return fids;
  }

  /**
   * Serves one connection, until it ends. Nothing that a client does makes it throw.
   *
   * @param stream the connection, which is closed in the end
   */
  async serve(stream: ByteStream): Promise<void> {
    const { maxMessageBytes = 1024 * 1024, maxFids = 16_384, trace, log = () => {} } = this.#options;
    const number = ++this.#served;
    const session = new Session(stream, {
      root: this.#root,
      maxMessageBytes,
      maxFids,
      trace: trace && ((direction, message) => trace(number, direction, message)),
      log: (message) => log(`connection ${number}: ${message}`),
    });
    this.#sessions.add(session);
    try {
      await session.run();
    } finally {
      this.#sessions.delete(session);
    }
  }

  /** Ends every connection. Requests that wait for an answer get an error. */
  async close(): Promise<void> {
    const ending = new NinepError("the server is ending", Errno.EIO);
    await Promise.all(Array.from(this.#sessions, (session) => session.close(ending)));
  }
}
