/**
 * Reads that wait for records: what `event`, `event.json` and `pub.json` have in common. A read is answered with one record, or
 * with as much of it as it asked for; the reads after it get the rest, and the one after that the next record. Two records never
 * share a read, none is cut, and the offset of a read says nothing about which record it gets.
 *
 * @module
 */
import type { OpenMode, ReadRequest } from "../file.ts";

/** Where the last answer ended, and what the reader lacked then. */
interface ShortAnswer {
  readonly end: bigint;
  readonly lacking: number;
  /** Whether the read was as long as a read can be. */
  readonly longest: boolean;
}

/** The longest read of a mount through 9pfuse. */
const FUSE_IOUNIT = 8192;

/** One for all: even an empty array takes two hundred bytes. */
const NOTHING: Uint8Array = new Uint8Array(0);

/** The reads of one fid, answered in the order in which they came. */
export class RecordReads {
  readonly #how: OpenMode;
  readonly #next: () => Promise<Uint8Array | undefined>;
  /** In the order in which they came. */
  readonly #waiting = new Set<ReadRequest>();
  /** What is left of the record that has been begun. */
  #rest = NOTHING;
  #last: ShortAnswer | undefined;
  /** What the next read is to be told. */
  #failure: { readonly error: unknown } | undefined;
  /** Whether the next record, or room for it, has been asked for. */
  #asking = false;
  /** How often {@linkcode discard} has been called: a record that was asked for before is none of those that are wanted now. */
  #discarded = 0;

  /**
   * @param how how the fid was opened
   * @param next brings the next record, which is never empty; `undefined` if it is to be asked again. What it throws is the
   * answer to the read that waited longest
   */
  constructor(how: OpenMode, next: () => Promise<Uint8Array | undefined>) {
    this.#how = how;
    this.#next = next;
  }

  /** Takes a read, and answers it when there is something to answer. */
  read(request: ReadRequest): void {
    if (this.#completes(request)) return request.answer(NOTHING);
    this.#waiting.add(request);
    this.#serve();
  }

  /** Forgets a read. What it would have had goes to the next. */
  flush(request: ReadRequest): void {
    this.#waiting.delete(request);
  }

  /** Forgets the record that has been begun. */
  discard(): void {
    this.#discarded++;
    this.#rest = NOTHING;
    this.#failure = undefined;
    this.#last = undefined;
  }

  /** Refuses all that wait. */
  fail(error: unknown): void {
    for (const request of this.#waiting) request.fail(error);
    this.#waiting.clear();
  }

  /**
   * Whether a read only asks for what the one before it lacked.
   *
   * Linux's mount answers a program's read(2) with as many Treads as it takes to fill the program's buffer, and gives the program
   * nothing until one of them brings nothing. So after an answer that was short, a Tread that goes on where it ended, and asks
   * for what it lacked, is answered with 0 bytes: the program then has its event at once, one for each read(2). Others would
   * take 0 bytes for the end, so this is for fids that were opened as a mount opens them.
   *
   * What the program lacks shows in the count, but for a buffer longer than a message: then the count is what is left of the
   * buffer, or as long as a read can be. In that last case the Tread may also be the next read(2) of another kind of mount,
   * plan9port's 9pfuse, which needs no such answer; it speaks 9P2000, and in short messages.
   */
  #completes({ offset, count }: ReadRequest): boolean {
    const last = this.#last;
    this.#last = undefined;
    const { copied, dialect, iounit } = this.#how;
    if (last === undefined || !copied || offset !== last.end) return false;
    if (count === last.lacking) return true;
    return last.longest && count > last.lacking && (count < iounit || dialect === "9P2000.u" || iounit > FUSE_IOUNIT);
  }

  /**
   * Answers those who wait, as far as there is something to answer. It and what it calls are no async functions: ten thousand
   * fids may wait, and a call that is suspended takes half a kilobyte.
   */
  #serve(): void {
    for (let request; !this.#asking && (request = first(this.#waiting)) !== undefined;) {
      const room = request.room();
      if (room !== undefined) {
        this.#asking = true;
        room.then(this.#resume);
      } else if (this.#failure !== undefined) {
        this.#waiting.delete(request);
        request.fail(this.#failure.error);
        this.#failure = undefined;
      } else if (this.#rest.length > 0) {
        this.#answer(request);
      } else {
        this.#take();
      }
    }
  }

  readonly #resume = () => {
    this.#asking = false;
    this.#serve();
  };

  /** Takes the next record. Whether it is there or why it is not, it waits for a read if all have been flushed meanwhile. */
  #take(): void {
    this.#asking = true;
    const discarded = this.#discarded;
    this.#next().then(
      (record) => {
        if (record !== undefined && discarded === this.#discarded) this.#rest = record;
        this.#resume();
      },
      (error) => {
        if (discarded === this.#discarded) this.#failure = { error };
        this.#resume();
      },
    );
  }

  #answer(request: ReadRequest): void {
    const { offset, count } = request;
    const data = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(data.length);
    this.#last = data.length === count
      ? undefined
      : { end: offset + BigInt(data.length), lacking: count - data.length, longest: count === this.#how.iounit };
    this.#waiting.delete(request);
    request.answer(data);
  }
}

function first<Element>(set: ReadonlySet<Element>): Element | undefined {
  for (const element of set) return element;
}
