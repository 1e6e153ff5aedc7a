/**
 * One connection to a 9P server: its fids, the requests that wait for an answer, and the bytes that wait to be written.
 *
 * Whatever can be answered at once is, in the order in which it came; a request that has to wait keeps nobody else from going
 * on. Replies to what arrived in one read leave in one write.
 *
 * @module
 */
import { stackOf } from "../thrown.ts";
import { waitAtMost } from "../waiting.ts";
import { decodeMessage } from "./codec.ts";
import { Errno, NinepError, refusal } from "./error.ts";
import { DirectoryReads } from "./directory_reads.ts";
import { type Fid, FidTable, fileOf, type OpenedFile } from "./fids.ts";
import type { Directory, OpenFile, OpenMode, ReadRequest, WriteRequest } from "./file.ts";
import { type ByteStream, FrameReader, FrameWriter } from "./frames.ts";
import {
  type Dialect,
  type Fields,
  FrameError,
  IOHDRSZ,
  type Message,
  type MessageOf,
  NOFID,
  OEXEC,
  ORCLOSE,
  ORDWR,
  OREAD,
  OTRUNC,
  OWRITE,
  type Qid,
} from "./message.ts";

/** What a session needs of its server. */
export interface SessionOptions {
  /** What is served. */
  readonly root: Directory;
  /** The longest message that is agreed to, in bytes. */
  readonly maxMessageBytes: number;
  /** How many fids there may be. */
  readonly maxFids: number;
  /** Is told of each message, received or sent. */
  readonly trace?: (direction: "<-" | "->", message: Message) => void;
  /** Is told why the server ended the connection, or of a fault in it. */
  readonly log: (message: string) => void;
}

/** The least that can be agreed on: the longest of the replies that have no data takes 217 bytes. */
const MIN_MESSAGE_BYTES = 256;
/** Until a length is agreed on. */
const FIRST_MESSAGE_BYTES = 8192;
/** How long a client that does not read, or a bus that does not answer, is waited for when the server ends, in milliseconds. */
const GRACE_MS = 500;
/** How much may have been brought to the files, and not dealt with, before no more requests are read. */
const MAX_UNWRITTEN_BYTES = 4 * 1024 * 1024;
/** The most that an error says, and what it takes besides its characters, of three bytes each. */
const MAX_ERROR_CHARACTERS = 300;
const RERROR_BYTES = 13;

/** A request that has not been answered. */
interface Call {
  /** Those who wait until it has been, or will never be: the tags of Tflushes, in order. */
  readonly flushes: number[];
  /** Makes sure that it will never be answered; a call without it is waited for. */
  readonly forget?: () => void;
  /** What it waits for itself, if it is a Tflush. */
  readonly target?: Call;
}

/** A Tread that waits for its answer: a class, for ten thousand of them may. */
class ReadCall implements ReadRequest, Call {
  readonly offset: bigint;
  readonly count: number;
  readonly flushes: number[] = [];
  readonly #tag: number;
  readonly #file: OpenFile;
  readonly #session: Session;

  constructor(tag: number, offset: bigint, count: number, file: OpenFile, session: Session) {
    this.offset = offset;
    this.count = count;
    this.#tag = tag;
    this.#file = file;
    this.#session = session;
  }

  room(): Promise<void> | undefined {
    return this.#session.room;
  }

  answer(data: Uint8Array): void {
    this.#session.settle(this.#tag, this, { type: "Rread", tag: this.#tag, data });
  }

  fail(error: unknown): void {
    this.#session.settle(this.#tag, this, this.#session.rerrorFor(this.#tag, error));
  }

  forget(): void {
    this.#file.flush(this);
  }
}

/** One connection. */
export class Session {
  readonly #stream: ByteStream;
  readonly #options: SessionOptions;
  readonly #frames: FrameReader;
  readonly #fids: FidTable;
  /** By tag. */
  readonly #calls = new Map<number, Call>();
  /** `undefined` until a version is agreed on. */
  #dialect: Dialect | undefined;
  #iounit = FIRST_MESSAGE_BYTES - IOHDRSZ;
  readonly #output: FrameWriter;
  /** How much the files have been brought and have not dealt with yet. */
  #unwrittenBytes = 0;
  #written = Promise.withResolvers<void>();
  /** Once the server is ending: what new requests are refused with, and what resolves when no old one waits for an answer. */
  #closing: { readonly error: NinepError; readonly idle: PromiseWithResolvers<void> } | undefined;
  #ended = false;

  /**
   * @param stream the connection
   * @param options what the server gives it
   */
  constructor(stream: ByteStream, options: SessionOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#fids = new FidTable(options.maxFids);
    this.#frames = new FrameReader(stream, FIRST_MESSAGE_BYTES);
    // If nobody is there to read, nobody is there to be served.
    this.#output = new FrameWriter(stream, () => this.#end());
  }

  /** How many fids there are. */
  get fids(): number {
    return this.#fids.size;
  }

  /** Serves until the connection ends. */
  async run(): Promise<void> {
    try {
      while (await this.#frames.fill()) {
        for (let frame; (frame = this.#frames.take()) !== undefined;) {
          this.#receive(decodeMessage(frame, this.#dialect ?? "9P2000"));
          if (this.#output.room !== undefined) await this.#output.room;
          while (this.#unwrittenBytes > MAX_UNWRITTEN_BYTES && !this.#ended) await this.#written.promise;
          if (this.#ended) return;
        }
      }
    } catch (error) {
      if (error instanceof FrameError) {
        this.#options.log(`closed a connection: ${error.message}`);
        await waitAtMost(GRACE_MS, this.#output.flushed());
      } else if (!this.#ended && !isDisconnection(error)) {
        // A fault of ours, which is no trouble of another client.
        this.#options.log(`internal error: ${stackOf(error)}`);
      }
    } finally {
      this.#end();
    }
  }

  /**
   * Ends the session from the server's side.
   *
   * @param error what those who wait are told
   */
  async close(error: NinepError): Promise<void> {
    const idle = Promise.withResolvers<void>();
    this.#closing = { error, idle };
    for (const [tag, call] of this.#calls) {
      if (call.forget === undefined) continue;
      call.forget();
      this.settle(tag, call, this.#rerror(tag, error));
    }
    // What is being written, say, has its answer soon.
    if (this.#calls.size > 0) await waitAtMost(GRACE_MS, idle.promise);
    for (const [tag, call] of this.#calls) {
      // A Tflush is answered along with what it waits for.
      if (call.target === undefined) this.settle(tag, call, this.#rerror(tag, error));
    }
    await waitAtMost(GRACE_MS, this.#output.flushed());
    this.#end();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#reset();
    this.#written.resolve();
    this.#output.close();
    this.#stream.close();
  }

  /** Forgets all that the client has begun. */
  #reset(): void {
    // First of all, so that whatever the files answer now goes nowhere.
    this.#calls.clear();
    for (const { opened } of this.#fids.takeAll()) {
      if (isOpenFile(opened)) this.#attempt(() => opened.file.close("hangup"));
    }
  }

  /** Does what nobody waits for. */
  async #attempt(work: () => void | Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof NinepError)) this.#options.log(`internal error: ${stackOf(error)}`);
    }
  }

  #send(message: Message): void {
    if (this.#ended) return;
    this.#options.trace?.("->", message);
    this.#output.send(message);
  }

  /** Resolves when what waits to be written is no longer too much; `undefined` if it is not. */
  get room(): Promise<void> | undefined {
    return this.#output.room;
  }

  /** Answers a request, unless it is no longer one. */
  settle(tag: number, call: Call, answer: Message | undefined): void {
    if (this.#calls.get(tag) !== call) return;
    this.#calls.delete(tag);
    if (this.#calls.size === call.flushes.length) this.#closing?.idle.resolve();
    if (answer !== undefined) this.#send(answer);
    for (const flush of call.flushes) {
      this.#calls.delete(flush);
      this.#send({ type: "Rflush", tag: flush });
    }
  }

  /** What a request is answered with that is refused. */
  rerrorFor(tag: number, error: unknown): Message {
    if (error instanceof NinepError) return this.#rerror(tag, error);
    this.#options.log(`internal error: ${stackOf(error)}`);
    return this.#rerror(tag, new NinepError("Input/output error", Errno.EIO));
  }

  #rerror(tag: number, { message, errno }: NinepError): Message {
    const room = Math.floor((this.#iounit + IOHDRSZ - RERROR_BYTES) / 3);
    return { type: "Rerror", tag, ename: message.slice(0, Math.min(room, MAX_ERROR_CHARACTERS)), errno };
  }

  #receive(message: Message): void {
    this.#options.trace?.("<-", message);
    if (message.type === "Tversion") return this.#version(message);
    const { tag } = message;
    try {
      if (this.#calls.has(tag)) throw new NinepError(`duplicate tag: ${tag} has not been answered`, Errno.EINVAL);
      if (this.#dialect === undefined) throw new NinepError("no version is agreed on: send Tversion", Errno.EINVAL);
      if (this.#closing !== undefined) throw this.#closing.error;
      this.#dispatch(message, this.#dialect);
    } catch (error) {
      if (error instanceof FrameError) throw error;
      this.#send(this.rerrorFor(tag, error));
    }
  }

  #dispatch(message: Message, dialect: Dialect): void {
    const { tag } = message;
    switch (message.type) {
      case "Tauth":
        throw refusal("authentication");
      case "Tattach":
        return this.#send({ type: "Rattach", tag, qid: this.#attach(message) });
      case "Tflush":
        return this.#flush(tag, message.oldtag);
      case "Twalk":
        return this.#send({ type: "Rwalk", tag, wqid: this.#fids.walk(message.fid, message.newfid, message.wname) });
      case "Topen":
        return this.#open(message, dialect);
      case "Tcreate":
        this.#fids.get(message.fid);
        throw refusal("permission");
      case "Tread":
        return this.#read(message);
      case "Twrite":
        return this.#writeFile(message);
      case "Tclunk":
        return this.#clunk(message);
      case "Tremove":
        this.#fids.get(message.fid);
        this.#attempt(() => this.#forgetFid(message.fid));
        throw refusal("notPermitted");
      case "Tstat":
        return this.#send({ type: "Rstat", tag, stat: fileOf(this.#fids.get(message.fid)).stat });
      case "Twstat":
        this.#fids.get(message.fid);
        if (!isHarmless(message.stat)) throw refusal("wstat");
        return this.#send({ type: "Rwstat", tag });
      default:
        throw new FrameError(`a client sent ${message.type}, which is for servers`);
    }
  }

  /** Starts the session anew: version(5). */
  #version({ tag, msize, version }: MessageOf<"Tversion">): void {
    this.#reset();
    this.#dialect = undefined;
    const agreed = Math.min(msize, this.#options.maxMessageBytes);
    const dialect = agreeOn(version);
    if (msize < MIN_MESSAGE_BYTES) {
      this.#send(
        this.#rerror(
          tag,
          new NinepError(`msize ${msize} is too small: it must be at least ${MIN_MESSAGE_BYTES}`, Errno.EINVAL),
        ),
      );
    } else {
      this.#send({ type: "Rversion", tag, msize: agreed, version: dialect ?? "unknown" });
      this.#dialect = dialect;
    }
    // The answer was still in the old one.
    this.#output.dialect = this.#dialect ?? "9P2000";
    if (this.#dialect === undefined) return;
    this.#iounit = agreed - IOHDRSZ;
    this.#frames.maxFrameBytes = agreed;
  }

  #attach({ fid, afid, aname }: MessageOf<"Tattach">): Qid {
    if (afid !== NOFID) throw refusal("authentication");
    if (aname !== "" && aname !== "/") throw refusal("missing");
    this.#fids.attach(fid, this.#options.root);
    return this.#options.root.stat.qid;
  }

  #open({ tag, fid: number, mode }: MessageOf<"Topen">, dialect: Dialect): void {
    const fid = this.#fids.get(number);
    if (fid.opened !== undefined) throw new NinepError("the fid is open already", Errno.EBADF);
    const access = mode & 3;
    const node = fileOf(fid);
    const answer = (): Message => ({ type: "Ropen", tag, qid: node.stat.qid, iounit: this.#iounit });
    if ("entries" in node) {
      if (access !== OREAD || (mode & OTRUNC) !== 0) throw refusal("isDirectory");
      if ((mode & ORCLOSE) !== 0) throw refusal("permission");
      fid.opened = new DirectoryReads(node, dialect);
      return this.#send(answer());
    }
    const truncates = (mode & OTRUNC) !== 0 && (node.stat.mode & 0o222) === 0;
    if (access === OEXEC || truncates || (mode & ORCLOSE) !== 0) throw refusal("permission");
    const how: OpenMode = {
      read: access !== OWRITE,
      write: access === OWRITE || access === ORDWR,
      dialect,
      copied: fid.copied,
      iounit: this.#iounit,
    };
    const file = node.open(how);
    if (!(file instanceof Promise)) {
      fid.opened = { file, how };
      return this.#send(answer());
    }
    const call: Call = { flushes: [] };
    this.#calls.set(tag, call);
    fid.opened = "opening";
    this.#finishOpening(fid, number, file, how).then(
      () => this.settle(tag, call, answer()),
      (error) => this.settle(tag, call, this.rerrorFor(tag, error)),
    );
  }

  async #finishOpening(fid: Fid, number: number, opening: Promise<OpenFile>, how: OpenMode): Promise<void> {
    try {
      const file = await opening;
      fid.opened = { file, how };
      if (this.#fids.has(number, fid)) return;
      // It was given up in the meantime.
      await file.close("hangup");
    } catch (error) {
      fid.opened = undefined;
      throw error;
    }
    throw refusal("badFid");
  }

  #read({ tag, fid: number, offset, count }: MessageOf<"Tread">): void {
    const { opened } = this.#fids.get(number);
    const most = Math.min(count, this.#iounit);
    if (opened instanceof DirectoryReads) return this.#send({ type: "Rread", tag, data: opened.read(offset, most) });
    if (!isOpenFile(opened) || !opened.how.read) throw refusal("notOpen");
    const call = new ReadCall(tag, offset, most, opened.file, this);
    this.#calls.set(tag, call);
    this.#ask(call, () => opened.file.read(call));
  }

  #writeFile({ tag, fid: number, offset, data }: MessageOf<"Twrite">): void {
    const { opened } = this.#fids.get(number);
    if (opened instanceof DirectoryReads) throw refusal("isDirectory");
    if (!isOpenFile(opened) || !opened.how.write) throw refusal("notOpen");
    const call: Call = { flushes: [] };
    this.#calls.set(tag, call);
    const { length } = data;
    this.#unwrittenBytes += length;
    const settle = (answer: Message) => {
      this.#unwrittenBytes -= length;
      this.#written.resolve();
      this.#written = Promise.withResolvers();
      this.settle(tag, call, answer);
    };
    const request: WriteRequest = {
      offset,
      data,
      done: () => settle({ type: "Rwrite", tag, count: length }),
      fail: (error) => settle(this.rerrorFor(tag, error)),
    };
    this.#ask(request, () => opened.file.write(request));
  }

  /** Hands a request to a file, which may refuse it by throwing, too. */
  #ask(request: ReadRequest | WriteRequest, ask: () => void): void {
    try {
      ask();
    } catch (error) {
      request.fail(error);
    }
  }

  #clunk({ tag, fid }: MessageOf<"Tclunk">): void {
    const closing = this.#forgetFid(fid);
    if (closing === undefined) return this.#send({ type: "Rclunk", tag });
    const call: Call = { flushes: [] };
    this.#calls.set(tag, call);
    closing.then(
      () => this.settle(tag, call, { type: "Rclunk", tag }),
      (error) => this.settle(tag, call, this.rerrorFor(tag, error)),
    );
  }

  /** Lets go of a fid. Returns what is still to be waited for, if anything. */
  #forgetFid(number: number): Promise<void> | undefined {
    const { opened } = this.#fids.take(number);
    if (!isOpenFile(opened)) return undefined;
    return opened.file.close("clunk") ?? undefined;
  }

  /** Answers once the old request has been answered, or never will be: flush(5). */
  #flush(tag: number, oldtag: number): void {
    const old = this.#calls.get(oldtag);
    if (old === undefined) return this.#send({ type: "Rflush", tag });
    const target = old.target ?? old;
    target.flushes.push(tag);
    this.#calls.set(tag, { flushes: [], target });
    if (old.forget === undefined) return;
    old.forget();
    this.settle(oldtag, old, undefined);
  }
}

/** What both sides can speak: version(5). */
function agreeOn(version: string): Dialect | undefined {
  if (version === "9P2000.u") return version;
  const [, number] = /^9P(\d+)(?:\.|$)/.exec(version) ?? [];
  return Number(number) >= 2000 ? "9P2000" : undefined;
}

/** Whether a Twstat asks for no more than what a truncating open or an fsync of a mount sends: a length of 0, and times. */
function isHarmless(stat: Fields<"Twstat">["stat"]): boolean {
  const { type, dev, qid, mode, length, name, uid, gid, muid, extension = "", n_uid, n_gid, n_muid } = stat;
  const untouched32 = 0xffff_ffff;
  const untouched64 = 0xffff_ffff_ffff_ffffn;
  return (length === 0n || length === untouched64) && type === 0xffff &&
    qid.type === 0xff && qid.version === untouched32 && qid.path === untouched64 &&
    [dev, mode, n_uid ?? untouched32, n_gid ?? untouched32, n_muid ?? untouched32].every((n) => n === untouched32) &&
    [name, uid, gid, muid, extension].every((text) => text === "");
}

function isOpenFile(opened: Fid["opened"]): opened is OpenedFile {
  return typeof opened === "object" && "file" in opened;
}

function isDisconnection(error: unknown): boolean {
  return error instanceof Deno.errors.ConnectionReset || error instanceof Deno.errors.BrokenPipe ||
    error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted ||
    error instanceof Deno.errors.ConnectionAborted || error instanceof Deno.errors.TimedOut;
}
