/**
 * What waits for one connection. Only a little is handed to the socket at a time: what is queued here is ours to drop, and what
 * the socket has been handed stays in memory for as long as its peer likes.
 *
 * @module
 */
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

const utf8 = new TextEncoder();

/**
 * Makes a frame of a text.
 *
 * @param text an envelope
 */
export function frameOf(text: string): Frame {
  return { text, bytes: utf8.encode(text).length };
}

/** The batch that was sent last: connections that want the same events get the same text. */
export class Batches {
  #frames: readonly Frame[] = [];
  #joined: Frame = { text: "", bytes: 0 };

  /** Frames as one, a line each. */
  join(frames: readonly Frame[]): Frame {
    if (frames.length === 1) return frames[0];
    const known = this.#frames;
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

/** The queue of one connection. */
export class Outbox {
  readonly #wire: Wire;
  readonly #batches: Batches | undefined;
  #frames: Frame[] = [];
  /** How many of them have been handed over already. */
  #done = 0;
  #bytes = 0;
  /** How much the socket may hold: what it said when it was last asked, and what it has been handed since. */
  #handed = 0;

  /**
   * @param wire where to send
   * @param batches where the connection takes several envelopes in a frame
   */
  constructor(wire: Wire, batches: Batches | undefined) {
    this.#wire = wire;
    this.#batches = batches;
  }

  /** How many bytes wait here. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many bytes the socket holds, as far as it is known. */
  get handed(): number {
    return this.#handed;
  }

  /** Adds a frame. */
  push(frame: Frame): void {
    this.#frames.push(frame);
    this.#bytes += frame.bytes;
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
      const frame = this.#batches === undefined ? this.#frames[this.#done++] : this.#nextBatch(this.#batches);
      this.#wire.send(frame.text);
      this.#handed += frame.bytes;
    }
    this.clear();
    return true;
  }

  /** Drops what waits. */
  clear(): void {
    this.#frames = [];
    this.#done = 0;
    this.#bytes = 0;
  }

  #hasRoomFor(bytes: number): boolean {
    if (this.#handed + bytes <= HANDED_BYTES) return true;
    this.#handed = this.#wire.bufferedAmount;
    return this.#handed === 0 || this.#handed + bytes <= HANDED_BYTES;
  }

  /** As many frames as there is room for, one at least. */
  #nextBatch(batches: Batches): Frame {
    let end = this.#done;
    for (let room = HANDED_BYTES - this.#handed; end < this.#frames.length; end++) {
      room -= this.#frames[end].bytes + 1;
      if (room < 0 && end > this.#done) break;
    }
    const all = this.#done === 0 && end === this.#frames.length;
    const batch = batches.join(all ? this.#frames : this.#frames.slice(this.#done, end));
    this.#done = end;
    return batch;
  }

  /** Forgets what has been handed over. */
  #compact(): void {
    this.#frames.splice(0, this.#done);
    this.#done = 0;
    this.#bytes = this.#frames.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
