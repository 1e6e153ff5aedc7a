/**
 * A 9P2000 client: files of a server, opened, read and written to, any number of requests at once.
 *
 * @module
 */
import { BusError } from "../bus.ts";
import { decodeMessage, decodeStats } from "./codec.ts";
import { connectTo, formatNinepAddress, type NinepAddress, parseNinepAddress } from "./address.ts";
import { NinepError, refusal } from "./error.ts";
import { type ByteStream, FrameReader, FrameWriter } from "./frames.ts";
import {
  type Fields,
  IOHDRSZ,
  MAXWELEM,
  type Message,
  type MessageName,
  type MessageOf,
  NOFID,
  NOTAG,
  ORDWR,
  OREAD,
  OTRUNC,
  OWRITE,
  type Stat,
} from "./message.ts";

/** How a file is opened. `"overwrite"` empties it first. */
export type OpenFor = "read" | "write" | "overwrite" | "readwrite";

type Request = Extract<MessageName, `T${string}`>;
type ReplyTo<Name extends Request> = Name extends `T${infer Rest}` ? MessageOf<Extract<MessageName, `R${Rest}`>>
  : never;

/** A request that waits for its reply. */
interface Pending {
  readonly resolve: (reply: Message) => void;
  readonly reject: (error: unknown) => void;
  /** Whether a Tflush is under way: until it is answered, the tag is not free. */
  flushing: boolean;
  answered: boolean;
}

const MESSAGE_BYTES = 1024 * 1024;
const ROOT = 0;
const SPARE_TAGS = 4096;
const MODES: Readonly<Record<OpenFor, number>> = {
  read: OREAD,
  write: OWRITE,
  overwrite: OWRITE | OTRUNC,
  readwrite: ORDWR,
};

/**
 * A connection to a server.
 *
 * It speaks plain 9P2000: that is what every server speaks, and what tells Ollie's own that it is no mount.
 */
export class NinepClient implements AsyncDisposable {
  readonly #stream: ByteStream;
  readonly #where: string;
  readonly #frames: FrameReader;
  readonly #output: FrameWriter;
  readonly #pending = new Map<number, Pending>();
  #iounit = MESSAGE_BYTES - IOHDRSZ;
  #nextTag = 0;
  #nextFid = ROOT + 1;
  #ended: BusError | undefined;
  #reading: Promise<void> | undefined;

  private constructor(stream: ByteStream, where: string) {
    this.#stream = stream;
    this.#where = where;
    this.#frames = new FrameReader(stream, MESSAGE_BYTES);
    this.#output = new FrameWriter(stream, (error) => this.#end(error));
  }

  /**
   * Connects, and attaches to the root of what the server serves.
   *
   * @param address `unix:PATH` or `tcp:HOST:PORT`
   * @param signal ends the connection, even before the server has answered at all
   * @throws {BusError} if nobody answers there, or it is no 9P server
   *
   * @example
   * ```ts
   * import { NinepClient } from "./client.ts";
   *
   * async function printEvents(filter: string): Promise<void> {
   *   await using client = await NinepClient.connect("unix:/run/ollie");
   *   const event = await client.open("event", "readwrite");
   *   await event.write(new TextEncoder().encode(filter));
   *   for (;;) console.log(new TextDecoder().decode(await event.read()));
   * }
   * ```
   */
  static async connect(address: string | NinepAddress, signal?: AbortSignal): Promise<NinepClient> {
    const parsed = typeof address === "string" ? parseNinepAddress(address) : address;
    const client = new NinepClient(await connectTo(parsed), formatNinepAddress(parsed));
    client.#reading = client.#read();
    if (signal?.aborted) client.#end(undefined);
    else signal?.addEventListener("abort", () => client.#end(undefined), { once: true });
    try {
      const { msize, version } = await client.#call("Tversion", { msize: MESSAGE_BYTES, version: "9P2000" });
      if (version !== "9P2000") {
        throw new BusError(`${client.#where} does not speak 9P2000, but ${JSON.stringify(version)}`);
      }
      if (msize > MESSAGE_BYTES || msize <= IOHDRSZ) {
        throw new BusError(`${client.#where} offers messages of ${msize} bytes: ${MESSAGE_BYTES} were asked for`);
      }
      client.#iounit = msize - IOHDRSZ;
      await client.#call("Tattach", { fid: ROOT, afid: NOFID, uname: "ollie", aname: "" });
      return client;
    } catch (error) {
      await client[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Opens a file.
   *
   * @param path from the root, with `/` between names
   * @param mode what for
   * @throws {NinepError} if the server refuses
   */
  async open(path: string, mode: OpenFor): Promise<RemoteFile> {
    const fid = await this.#walk(path);
    try {
      const { iounit } = await this.#call("Topen", { fid, mode: MODES[mode] });
      const most = iounit === 0 ? this.#iounit : Math.min(iounit, this.#iounit);
      return new RemoteFile(most, (type, fields, signal) =>
        // All fields of such a request are its fid and the others, which TypeScript cannot add up for a type that it is not told.
        this.#call(type, { fid, ...fields } as unknown as Fields<typeof type>, signal));
    } catch (error) {
      await this.#clunk(fid);
      throw error;
    }
  }

  /**
   * The attributes of a file.
   *
   * @param path from the root
   * @throws {NinepError} if the server refuses
   */
  async stat(path: string): Promise<Stat> {
    const fid = await this.#walk(path);
    try {
      return (await this.#call("Tstat", { fid })).stat;
    } finally {
      await this.#clunk(fid);
    }
  }

  /**
   * What is in a directory.
   *
   * @param path from the root
   * @throws {NinepError} if the server refuses
   */
  async list(path: string): Promise<Stat[]> {
    const directory = await this.open(path, "read");
    try {
      const stats: Stat[] = [];
      for (let offset = 0n;;) {
        const data = await directory.read({ offset });
        if (data.length === 0) return stats;
        stats.push(...decodeStats(data, "9P2000"));
        offset += BigInt(data.length);
      }
    } finally {
      await directory[Symbol.asyncDispose]();
    }
  }

  /** Whether the connection has ended: then nothing can be asked any more. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** Ends the connection. Requests that wait are told so. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end(undefined);
    await this.#reading;
  }

  async #walk(path: string): Promise<number> {
    const names = path.split("/").filter((name) => name !== "" && name !== ".");
    const newfid = this.#nextFid++;
    let fid = ROOT;
    do {
      const wname = names.splice(0, MAXWELEM);
      try {
        const { wqid } = await this.#call("Twalk", { fid, newfid, wname });
        if (wqid.length < wname.length) throw refusal("missing");
      } catch (error) {
        if (fid === newfid) await this.#clunk(fid);
        throw error;
      }
      fid = newfid;
    } while (names.length > 0);
    return newfid;
  }

  /** Gives a fid back; a connection that has ended has done that already. */
  async #clunk(fid: number): Promise<void> {
    await this.#call("Tclunk", { fid }).catch(() => {});
  }

  /**
   * Sends a request.
   *
   * @param signal makes the server forget it; if it has not answered by then, the promise rejects with the signal's reason
   */
  async #call<Name extends Request>(type: Name, fields: Fields<Name>, signal?: AbortSignal): Promise<ReplyTo<Name>> {
    signal?.throwIfAborted();
    const tag = type === "Tversion" ? NOTAG : this.#freeTag(type);
    const abort = () => this.#flush(tag, signal?.reason);
    // A type and its fields make a message, which TypeScript cannot put together for a type that it is not told.
    const replied = this.#send(tag, { type, tag, ...fields } as MessageOf<Name> & Message);
    signal?.addEventListener("abort", abort);
    try {
      const reply = await replied;
      if (reply.type === "Rerror") throw new NinepError(reply.ename, reply.errno ?? 0);
      if (reply.type !== `R${type.slice(1)}`) throw this.#end(`it answered ${type} with ${reply.type}`);
      // The line before has made sure of that.
      return reply as ReplyTo<Name>;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  // deno-lint-ignore require-await -- so that what it throws is a rejection
  async #send(tag: number, message: Message): Promise<Message> {
    if (this.#ended !== undefined) throw this.#ended;
    // First of all, since it may throw: a name can be too long.
    this.#output.send(message);
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    this.#pending.set(tag, { resolve, reject, flushing: false, answered: false });
    return promise;
  }

  /** Asks the server to forget a request; one that it answers all the same has been answered. */
  async #flush(tag: number, reason: unknown): Promise<void> {
    const pending = this.#pending.get(tag);
    if (pending === undefined || pending.flushing) return;
    pending.flushing = true;
    try {
      await this.#call("Tflush", { oldtag: tag });
    } catch {
      // The connection has ended, and whoever waits has been told.
      return;
    }
    this.#pending.delete(tag);
    if (!pending.answered) pending.reject(reason);
  }

  #freeTag(type: Request): number {
    // What makes others free must always be possible.
    const most = type === "Tflush" || type === "Tclunk" ? NOTAG : NOTAG - SPARE_TAGS;
    if (this.#pending.size >= most) {
      throw new BusError(`${most} requests wait for ${this.#where}, which is as many as there may be`);
    }
    for (;;) {
      const tag = this.#nextTag;
      this.#nextTag = (tag + 1) % NOTAG;
      if (!this.#pending.has(tag)) return tag;
    }
  }

  async #read(): Promise<void> {
    try {
      while (await this.#frames.fill()) {
        for (let frame; (frame = this.#frames.take()) !== undefined;) this.#receive(decodeMessage(frame, "9P2000"));
      }
      this.#end("it hung up");
    } catch (error) {
      this.#end(error);
    }
  }

  #receive(message: Message): void {
    const pending = this.#pending.get(message.tag);
    if (pending === undefined) {
      this.#end(`it answered a request that there is not, with ${message.type}`);
      return;
    }
    pending.answered = true;
    if (!pending.flushing) this.#pending.delete(message.tag);
    // The frame is overwritten by what comes next.
    pending.resolve(message.type === "Rread" ? { ...message, data: message.data.slice() } : message);
  }

  /** Ends the connection. Whoever waits, or asks from now on, gets the error that it returns. */
  #end(cause: unknown): BusError {
    if (this.#ended !== undefined) return this.#ended;
    const why = cause === undefined ? "was closed" : `ended: ${cause instanceof Error ? cause.message : cause}`;
    this.#ended = new BusError(`the connection to ${this.#where} ${why}`, { cause });
    for (const { reject } of this.#pending.values()) reject(this.#ended);
    this.#pending.clear();
    this.#stream.close();
    return this.#ended;
  }
}

/** What a {@linkcode RemoteFile} is to read. */
export interface RemoteReadOptions {
  /** Where; 0 if not given, which is all the same to a stream. */
  readonly offset?: bigint;
  /** How many bytes at most; as many as one read can carry, if not given. */
  readonly count?: number;
  /** Makes the server forget the read, whose promise then rejects with the signal's reason, unless it was answered first. */
  readonly signal?: AbortSignal;
}

/** What a {@linkcode RemoteFile} needs of its connection: a request about its fid. */
type CallAbout = <Name extends "Tread" | "Twrite" | "Tclunk">(
  type: Name,
  fields: Omit<Fields<Name>, "fid">,
  signal?: AbortSignal,
) => Promise<ReplyTo<Name>>;

/** A file of a server, opened. Disposing of it clunks its fid, which answers the reads that wait with an error. */
export class RemoteFile implements AsyncDisposable {
  /** The most bytes that one read or write can carry. */
  readonly iounit: number;
  readonly #call: CallAbout;

  /**
   * @param iounit the most bytes that one read or write can carry
   * @param call asks the server something about the file
   */
  constructor(iounit: number, call: CallAbout) {
    this.iounit = iounit;
    this.#call = call;
  }

  /**
   * Reads once.
   *
   * @param options what of it
   * @returns what there was; nothing at the end
   * @throws {NinepError} if the server refuses
   */
  async read({ offset = 0n, count = this.iounit, signal }: RemoteReadOptions = {}): Promise<Uint8Array> {
    const most = Math.min(count, this.iounit);
    const { data } = await this.#call("Tread", { offset, count: most }, signal);
    if (data.length > most) throw new BusError(`the server sent ${data.length} bytes where ${most} were asked for`);
    return data;
  }

  /**
   * Writes all, in as many writes as it takes.
   *
   * @param data what to write
   * @param offset where
   * @throws {NinepError} if the server refuses
   */
  async write(data: Uint8Array, offset = 0n): Promise<void> {
    let done = 0;
    do {
      const piece = data.subarray(done, done + this.iounit);
      const { count } = await this.#call("Twrite", { offset: offset + BigInt(done), data: piece });
      if (count > piece.length || (count === 0 && piece.length > 0)) {
        throw new BusError(`the server says that it wrote ${count} of ${piece.length} bytes`);
      }
      done += count;
    } while (done < data.length);
  }

  /**
   * Gives the file back.
   *
   * @throws {NinepError} if what was written last could not be kept
   */
  async close(): Promise<void> {
    await this.#call("Tclunk", {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close().catch(() => {});
  }
}
