/**
 * A stream of bytes as a stream of messages, in both directions: what a connection of a server and one of a client share.
 *
 * @module
 */
import { Encoder } from "./codec.ts";
import { FrameError, HEADER_BYTES, type Message } from "./message.ts";

/** Where messages come from and go to, such as a `Deno.Conn`. */
export interface ByteStream {
  /** Reads some bytes, and tells how many; `null` at the end. */
  read(into: Uint8Array): Promise<number | null>;
  /** Writes some bytes, and tells how many. */
  write(bytes: Uint8Array): Promise<number>;
  /** Ends both directions, and whatever waits for them. */
  close(): void;
}

/** What a connection that has little to say gets; ten thousand of them should cost little. */
const LEAST_BYTES = 4096;
/** As much as one read is worth making room for. */
const MOST_BYTES = 64 * 1024;

/** Takes whole frames out of a stream. */
export class FrameReader {
  /** The longest frame that may come, in bytes. */
  maxFrameBytes: number;
  readonly #stream: ByteStream;
  #buffer = new Uint8Array(LEAST_BYTES);
  #start = 0;
  #end = 0;

  /**
   * @param stream where the bytes come from
   * @param maxFrameBytes the longest frame that may come
   */
  constructor(stream: ByteStream, maxFrameBytes: number) {
    this.#stream = stream;
    this.maxFrameBytes = maxFrameBytes;
  }

  /**
   * Reads some more. Frames that were taken before are no longer good.
   *
   * @returns whether anything came; if not, the stream has ended
   */
  async fill(): Promise<boolean> {
    this.#makeRoom();
    const bytes = await this.#stream.read(this.#buffer.subarray(this.#end));
    if (bytes === null) return false;
    this.#end += bytes;
    return true;
  }

  /**
   * Takes the next frame, if all of it has come.
   *
   * @returns the frame, good until the next {@linkcode fill}
   * @throws {FrameError} if its size is none that a frame can have
   */
  take(): Uint8Array | undefined {
    const left = this.#end - this.#start;
    if (left < 4) return undefined;
    const size = new DataView(this.#buffer.buffer, this.#start, 4).getUint32(0, true);
    if (size < HEADER_BYTES) throw new FrameError(`a frame says that it has ${size} bytes: it needs ${HEADER_BYTES}`);
    if (size > this.maxFrameBytes) {
      const other = otherProtocol(this.#buffer.subarray(this.#start, this.#start + 4));
      if (other !== undefined) throw new FrameError(`that is ${other}, and not 9P`);
      throw new FrameError(`a frame says that it has ${size} bytes: ${this.maxFrameBytes} are allowed`);
    }
    if (left < size) return undefined;
    this.#start += size;
    return this.#buffer.subarray(this.#start - size, this.#start);
  }

  /** Moves what is left to the front. Room grows with what really comes, not with what a frame says of itself. */
  #makeRoom(): void {
    const left = this.#end - this.#start;
    const full = this.#end === this.#buffer.length;
    const wanted = left === this.#buffer.length || (full && this.#buffer.length < MOST_BYTES)
      ? 2 * this.#buffer.length
      : left <= MOST_BYTES / 2
      ? Math.min(this.#buffer.length, MOST_BYTES)
      : this.#buffer.length;
    if (wanted !== this.#buffer.length) {
      const buffer = new Uint8Array(wanted);
      buffer.set(this.#buffer.subarray(this.#start, this.#end));
      this.#buffer = buffer;
    } else if (this.#start > 0) {
      this.#buffer.copyWithin(0, this.#start, this.#end);
    }
    this.#start = 0;
    this.#end = left;
  }
}

/** How much may wait to be written before whoever writes should wait, too. */
const HIGH_WATER_BYTES = 256 * 1024;

/** What somebody speaks whose first bytes say that it is not 9P: they are most often at the wrong port. */
function otherProtocol(start: Uint8Array): string | undefined {
  if (/^(GET |HEAD|POST|PUT |OPTI|HTTP)/.test(String.fromCharCode(...start))) return "HTTP";
  // The header of a handshake, RFC 8446 section 5.1.
  return start[0] === 0x16 && start[1] === 3 ? "TLS" : undefined;
}

/** Writes messages to a stream. All that are sent in one turn leave in one write, as do those that are sent during a write. */
export class FrameWriter extends Encoder {
  readonly #stream: ByteStream;
  readonly #onFailure: (error: unknown) => void;
  #writing: Promise<void> | undefined;
  #queued = false;
  #room: PromiseWithResolvers<void> | undefined;
  #failed = false;

  /**
   * @param stream where the bytes go
   * @param onFailure is called once, when they cannot be written
   */
  constructor(stream: ByteStream, onFailure: (error: unknown) => void) {
    super("9P2000");
    this.#stream = stream;
    this.#onFailure = onFailure;
  }

  /** Resolves when what waits to be written is no longer too much; `undefined` if it is not. */
  get room(): Promise<void> | undefined {
    return this.#room?.promise;
  }

  /** Sends a message, soon. */
  send(message: Message): void {
    if (this.#failed) return;
    this.add(message);
    if (this.size > HIGH_WATER_BYTES) {
      this.#room ??= Promise.withResolvers();
      this.#write();
    }
    if (this.#queued) return;
    this.#queued = true;
    queueMicrotask(() => {
      this.#queued = false;
      this.#write();
    });
  }

  /** Resolves when all that was sent has been written, or never will be. */
  async flushed(): Promise<void> {
    this.#write();
    await this.#writing;
  }

  #write(): void {
    if (this.size > 0 && !this.#failed) this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.size > 0) {
        const bytes = this.take();
        for (let done = 0; done < bytes.length;) done += await this.#stream.write(bytes.subarray(done));
        if (this.size <= HIGH_WATER_BYTES) this.#makeRoom();
      }
    } catch (error) {
      if (this.#failed) return;
      this.close();
      this.#onFailure(error);
    } finally {
      this.#writing = undefined;
    }
  }

  /** Sends nothing any more, and lets go of what waits and of whoever waits for room. */
  close(): void {
    this.#failed = true;
    this.take();
    this.#makeRoom();
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}
