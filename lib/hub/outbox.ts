/**
 * What waits for one connection. Only a little is handed to the socket at a time: what is queued here is ours to drop, and what
 * the socket has been handed stays in memory for as long as its peer likes.
 *
 * @module
 */
import type { Frames } from "./run.ts";
import type { Wire } from "./socket.ts";

/** A text that is sent, in a frame of its own or as a line of a batch. It is made once, however many receive it. */
export interface Frame {
  /** The text. */
  readonly text: string;
  /** How many bytes of UTF-8 that is. */
  readonly bytes: number;
}

/** How many bytes a socket may have been handed that it has not sent; but a frame is handed to it whole. */
export const HANDED_BYTES = 64 * 1024;

/**
 * How many bytes all sockets may have been handed together, unless there are so many that each would have less than it takes to send
 * without a pause. What they were handed stays with the process as memory that the system is not given back, also when it is free.
 */
const ALL_HANDED_BYTES = 8 * 1024 * 1024;
const FEWEST_HANDED_BYTES = 24 * 1024;

/** How much a socket may have been handed, among so many. */
export class Allowance {
  #bytes = HANDED_BYTES;

  /** In bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Takes note of how many sockets there are. */
  share(sockets: number): void {
    this.#bytes = Math.max(FEWEST_HANDED_BYTES, Math.min(HANDED_BYTES, Math.floor(ALL_HANDED_BYTES / sockets)));
  }
}

const utf8 = new TextEncoder();

const ASCII = /^[\0-\x7f]*$/;

/**
 * How many bytes of UTF-8 a text is.
 *
 * @param text any string
 */
export function bytesOf(text: string): number {
  return ASCII.test(text) ? text.length : utf8.encode(text).length;
}

/**
 * Makes a frame of a text.
 *
 * @param text an envelope
 */
export function frameOf(text: string): Frame {
  return { text, bytes: bytesOf(text) };
}

/** The batch that was sent last: connections that want the same events get the same text. */
export class Batches {
  #frames: readonly Frame[] = [];
  #joined: Frame = { text: "", bytes: 0 };

  /** Frames as one, a line each. */
  join(frames: readonly Frame[]): Frame {
    if (frames.length === 1) return frames[0];
    const known = this.#frames;
    if (known === frames) return this.#joined;
    if (known.length !== frames.length || known.some((frame, at) => frame !== frames[at])) {
      this.#frames = frames;
      this.#joined = {
        text: frames.map(({ text }) => text).join("\n"),
        bytes: frames.reduce((sum, { bytes }) => sum + bytes + 1, -1),
      };
    }
    return this.#joined;
  }
}

const NONE: readonly Frame[] = [];

/** The queue of one connection. */
export class Outbox {
  readonly #wire: Wire;
  readonly #allowance: Allowance;
  readonly #batches: Batches | undefined;
  #frames: readonly Frame[] = NONE;
  /** Whether nobody else has them. */
  #isOurs = false;
  /** How many of them have been handed over already. */
  #done = 0;
  #bytes = 0;
  /** How much the socket may hold: what it said when it was last asked, and what it has been handed since. */
  #handed = 0;
  /** How much it has been handed ever. */
  #allHanded = 0;

  /**
   * @param wire where to send
   * @param allowance how much it may hold
   * @param batches where the connection takes several envelopes in a frame
   */
  constructor(wire: Wire, allowance: Allowance, batches: Batches | undefined) {
    this.#wire = wire;
    this.#allowance = allowance;
    this.#batches = batches;
  }

  /** How many frames that are sent it is: a batch is one. */
  get frames(): number {
    return this.#batches === undefined ? this.#frames.length - this.#done : 1;
  }

  /** How many bytes wait here. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many bytes the socket has sent so far, as far as it is known. */
  get sent(): number {
    return this.#allHanded - this.#handed;
  }

  /** Adds a frame. */
  push(frame: Frame): void {
    this.#own().push(frame);
    this.#bytes += frame.bytes;
  }

  /** Adds frames, which it may share with others as long as nothing else waits. */
  pushAll({ list, bytes }: Frames): void {
    if (this.#frames.length > 0) {
      const frames = this.#own();
      for (const frame of list) frames.push(frame);
    } else {
      this.#frames = list;
      this.#isOurs = false;
    }
    this.#bytes += bytes;
  }

  #own(): Frame[] {
    if (!this.#isOurs) this.#frames = [...this.#frames];
    this.#isOurs = true;
    return this.#frames as Frame[];
  }

  /**
   * Hands over as much as the socket has room for.
   *
   * @returns whether that was all
   */
  flush(): boolean {
    while (this.#done < this.#frames.length) {
      if (!this.#hasRoomFor(this.#frames[this.#done].bytes)) {
        this.#compact();
        return false;
      }
      const frame = this.#batches === undefined ? this.#take() : this.#takeBatch(this.#batches);
      this.#wire.send(frame.text);
      this.#handed += frame.bytes;
      this.#allHanded += frame.bytes;
    }
    this.clear();
    return true;
  }

  /** Drops what waits. */
  clear(): void {
    this.#frames = NONE;
    this.#isOurs = false;
    this.#done = 0;
    this.#bytes = 0;
  }

  #hasRoomFor(bytes: number): boolean {
    if (this.#handed + bytes <= this.#allowance.bytes) return true;
    this.#handed = this.#wire.bufferedAmount;
    return this.#handed === 0 || this.#handed + bytes <= this.#allowance.bytes;
  }

  #take(): Frame {
    const frame = this.#frames[this.#done++];
    this.#bytes -= frame.bytes;
    return frame;
  }

  /** As many frames as there is room for, one at least. */
  #takeBatch(batches: Batches): Frame {
    const begin = this.#done;
    if (begin === 0 && this.#handed + this.#bytes + this.#frames.length - 1 <= this.#allowance.bytes) {
      this.#done = this.#frames.length;
      this.#bytes = 0;
      return batches.join(this.#frames);
    }
    let room = this.#allowance.bytes - this.#handed - this.#take().bytes;
    while (this.#done < this.#frames.length && (room -= this.#frames[this.#done].bytes + 1) >= 0) this.#take();
    const all = begin === 0 && this.#done === this.#frames.length;
    return batches.join(all ? this.#frames : this.#frames.slice(begin, this.#done));
  }

  /** Forgets what has been handed over, when that is most of what is remembered. */
  #compact(): void {
    if (this.#done <= this.#frames.length / 2) return;
    this.#frames = this.#frames.slice(this.#done);
    this.#isOurs = true;
    this.#done = 0;
  }
}
