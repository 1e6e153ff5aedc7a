/**
 * How the NATS client reaches a server: over TCP, and TLS where the server or the address wants it.
 *
 * The client for Node has a transport of its own, through Node's sockets. On the oldest Deno that is supported those cannot begin
 * TLS on a connection that has been read from, which is how NATS begins it; and names that it looks up itself are not those that
 * Deno's permissions allow.
 *
 * @module
 */
import { concatenated } from "../../bytes.ts";
import { waitAtMost } from "../../waiting.ts";
import { checkOptions, type ConnectionOptions, type Server, type Transport } from "./library.ts";

/** How much is read at once: an event that somebody keeps may keep as much in memory. */
const CHUNK_BYTES = 16 * 1024;
/** How long what has been sent may take to leave when a connection is closed, in milliseconds. */
const CLOSE_MS = 500;
/** What a server says first, up to its end. */
const INFO = /^INFO\s+([^\r\n]+)\r\n/;
/** How long that may be, in bytes; it names all servers of a cluster. */
const MAX_INFO_BYTES = 1024 * 1024;

/** What matters here of what a server says of itself. */
interface ServerInfo {
  readonly tls_required?: boolean;
  readonly tls_available?: boolean;
}

/** A connection to one server. */
export class DenoTransport implements Transport {
  /** What the server is told of its client. */
  readonly lang = "deno";
  /** Likewise. */
  readonly version = Deno.version.deno;
  /** Why it ended, if that is known. */
  closeError: Error | undefined;
  readonly #closed = Promise.withResolvers<void | Error>();
  readonly #buffer = new Uint8Array(CHUNK_BYTES);
  #connection: Deno.Conn | undefined;
  #isEncrypted = false;
  #isClosed = false;
  /** What has been read, and is for the client to read. */
  #read: Uint8Array[] = [];
  #frames: Uint8Array[] = [];
  #sending: Promise<void> | undefined;
  #isConnected = false;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  isEncrypted(): boolean {
    return this.#isEncrypted;
  }

  async connect({ hostname, port }: Server, options: ConnectionOptions): Promise<void> {
    try {
      const connection = await Deno.connect({ hostname, port });
      this.#keep(connection);
      connection.setNoDelay();
      const info = await this.#readInfo();
      // The client's own check, and its own rule of when to encrypt: always, if the server can.
      checkOptions(info as Parameters<typeof checkOptions>[0], options);
      if (info.tls_required || info.tls_available) {
        const encrypted = await Deno.startTls(connection, { hostname });
        this.#keep(encrypted);
        await encrypted.handshake();
        this.#isEncrypted = true;
      }
      this.#isConnected = true;
    } catch (error) {
      this.discard();
      throw error;
    }
  }

  async *[Symbol.asyncIterator](): AsyncIterableIterator<Uint8Array> {
    yield* this.#read.splice(0);
    try {
      for (let chunk; (chunk = await this.#readChunk()) !== undefined;) yield chunk;
      this.#end();
    } catch (error) {
      this.#end(error instanceof Error ? error : undefined);
    }
  }

  send(frame: Uint8Array): void {
    if (this.#isClosed) return;
    this.#frames.push(frame);
    this.#sending ??= this.#sendAll();
  }

  async close(error?: Error): Promise<void> {
    if (error === undefined && this.#sending !== undefined) await waitAtMost(CLOSE_MS, this.#sending);
    this.#end(error);
  }

  disconnect(): void {
    this.close();
  }

  closed(): Promise<void | Error> {
    return this.#closed.promise;
  }

  /** Ends it without a word. */
  discard(): void {
    this.#isClosed = true;
    try {
      this.#connection?.close();
    } catch {
      // It has been closed.
    }
    this.#connection = undefined;
  }

  /** It may have been given up meanwhile. */
  #keep(connection: Deno.Conn): void {
    if (this.#isClosed) {
      connection.close();
      throw new Error("the connection was given up");
    }
    this.#connection = connection;
  }

  async #readInfo(): Promise<ServerInfo> {
    for (let length = 0; length < MAX_INFO_BYTES;) {
      const chunk = await this.#readChunk();
      if (chunk === undefined) throw new Error("the server has closed the connection");
      this.#read.push(chunk);
      length += chunk.length;
      const said = new TextDecoder().decode(concatenated(this.#read));
      const [, json] = INFO.exec(said) ?? [];
      if (json !== undefined) return JSON.parse(json);
      if (said.length >= 4 && !said.startsWith("INFO")) break;
    }
    throw new Error("what answers there is no NATS server");
  }

  async #readChunk(): Promise<Uint8Array | undefined> {
    const count = await this.#connection?.read(this.#buffer) ?? null;
    // The client keeps parts of it.
    return count === null ? undefined : this.#buffer.slice(0, count);
  }

  async #sendAll(): Promise<void> {
    try {
      while (this.#frames.length > 0) {
        const bytes = concatenated(this.#frames.splice(0));
        for (let sent = 0; sent < bytes.length && this.#connection !== undefined;) {
          sent += await this.#connection.write(bytes.subarray(sent));
        }
      }
    } catch {
      // Whoever reads is told.
    } finally {
      this.#sending = undefined;
    }
  }

  #end(error?: Error): void {
    if (this.#isClosed) return;
    this.closeError = error;
    this.discard();
    // A connection that was never there is none that has ended.
    if (this.#isConnected) this.#closed.resolve(error);
  }
}
