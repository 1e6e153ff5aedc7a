/**
 * `pub` and `pub.json`, opened: what is written into them is published, one event a line.
 *
 * @module
 */
import type { Bus, Published } from "../../bus.ts";
import { checkTopic } from "../../event.ts";
import { Queue } from "../../queue.ts";
import { Errno, NinepError } from "../error.ts";
import type { OpenFile, OpenMode, ReadRequest, WriteRequest } from "../file.ts";
import type { Counters } from "./counters.ts";
import { RecordReads } from "./records.ts";
import { asNinepError, REFUSED } from "./refusal.ts";

const NEWLINE = 10;
/** The longest line, in bytes: 64 MiB, and some more for what is around the payload. */
const MAX_LINE_BYTES = 96 * 1024 * 1024;
/** How long all lines may be together that have no newline yet, of all who publish. */
const MAX_BEGUN_BYTES = 256 * 1024 * 1024;
/** How many events may be published before somebody who opened the file to read, too, has read of the first. */
const MAX_UNREAD = 65_536;
/** How long one who publishes much may keep everybody waiting, in milliseconds. */
const TURN_MS = 5;

/** What a line says. */
export interface Publication {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly via?: readonly string[];
}

/** Where one fid publishes. */
export class LinePublisher implements OpenFile {
  readonly #bus: Bus;
  readonly #parse: (line: Uint8Array) => Publication;
  readonly #counters: Counters;
  readonly #reads: RecordReads | undefined;
  /** Of what was published, what has not been read. */
  readonly #unread = new Queue<Uint8Array>();
  #wake = Promise.withResolvers<void>();
  /** The line that has no newline yet, and room for more of it. */
  #begun = new Uint8Array(0);
  #begunBytes = 0;
  /** Resolves when what was written before has been published. */
  #publishing = Promise.resolve();

  /**
   * @param bus where the events go
   * @param parse reads a line, and throws a {@linkcode NinepError} if it cannot
   * @param how how the file is opened: if to be read, too, each event's id and time can be
   * @param counters what counts the events
   */
  constructor(bus: Bus, parse: (line: Uint8Array) => Publication, how: OpenMode, counters: Counters) {
    this.#bus = bus;
    this.#parse = parse;
    this.#counters = counters;
    if (how.read) this.#reads = new RecordReads(how, () => this.#nextPublished());
  }

  /** Asks what became of the events, in order: `{"id","time"}`, on a line each. */
  read(request: ReadRequest): void {
    this.#reads?.read(request);
  }

  /** Publishes the lines that are whole. If one of them cannot be an event, none of them is published. */
  write(request: WriteRequest): void {
    let publications;
    try {
      if (this.#unread.size > MAX_UNREAD) {
        throw new NinepError(`read what became of the ${this.#unread.size} events before`, Errno.ENOBUFS);
      }
      publications = this.#linesWith(request.data).map((line) => this.#publication(line));
    } catch (error) {
      // Whoever was refused will not go on where the refused write ended. The same goes for what fails below.
      this.#takeBegun();
      return request.fail(error);
    }
    this.#publish(publications).then(() => request.done(), (error) => {
      this.#takeBegun();
      request.fail(error);
    });
  }

  flush(request: ReadRequest): void {
    this.#reads?.flush(request);
  }

  /** On a clunk, publishes the line that has no newline. After a hangup nobody knows whether it was whole. */
  close(how: "clunk" | "hangup"): Promise<void> | undefined {
    this.#reads?.fail(new NinepError("the file was closed", Errno.EBADF));
    if (how === "hangup") this.#takeBegun();
    if (this.#begunBytes === 0) return undefined;
    const line = this.#takeBegun();
    return this.#publish([this.#publication(line)]);
  }

  /** Adds to the line that was begun, and takes the lines that are whole. */
  #linesWith(data: Uint8Array): Uint8Array[] {
    const lines: Uint8Array[] = [];
    let start = 0;
    for (let end; (end = data.indexOf(NEWLINE, start)) >= 0; start = end + 1) {
      if (this.#begunBytes > 0) {
        this.#begin(data.subarray(start, end));
        lines.push(this.#takeBegun());
      } else {
        lines.push(data.slice(start, end));
      }
    }
    this.#begin(data.subarray(start));
    return lines;
  }

  /** Adds to the line that was begun. */
  #begin(piece: Uint8Array): void {
    const bytes = this.#begunBytes + piece.length;
    if (bytes > MAX_LINE_BYTES) {
      throw new NinepError(`${REFUSED}a line has more than ${MAX_LINE_BYTES} bytes`, Errno.EFBIG);
    }
    if (this.#counters.begunBytes + piece.length > MAX_BEGUN_BYTES) {
      throw new NinepError("too much has been written without a newline", Errno.ENOBUFS);
    }
    if (bytes > this.#begun.length) {
      const larger = new Uint8Array(Math.max(bytes, 2 * this.#begunBytes));
      larger.set(this.#begun.subarray(0, this.#begunBytes));
      this.#begun = larger;
    }
    this.#begun.set(piece, this.#begunBytes);
    this.#begunBytes = bytes;
    this.#counters.begunBytes += piece.length;
  }

  /** Takes the line as far as it has been begun: the caller's from now on. */
  #takeBegun(): Uint8Array {
    const line = this.#begun.subarray(0, this.#begunBytes);
    this.#counters.begunBytes -= this.#begunBytes;
    this.#begun = new Uint8Array(0);
    this.#begunBytes = 0;
    return line;
  }

  #publication(line: Uint8Array): Publication {
    try {
      const publication = this.#parse(line);
      checkTopic(publication.topic);
      return publication;
    } catch (error) {
      throw asNinepError(error);
    }
  }

  /** Publishes after what came before. Stops at what cannot be published, and says how far it came. */
  #publish(publications: readonly Publication[]): Promise<void> {
    const publishing = this.#publishing.then(async () => {
      let began = performance.now();
      for (const [number, { topic, payload, via }] of publications.entries()) {
        try {
          this.#published(await this.#bus.publish(topic, payload, { via }));
        } catch (error) {
          const refused = asNinepError(error);
          if (number === 0 || !(refused instanceof NinepError)) throw refused;
          throw new NinepError(`published ${number} of ${publications.length}: ${refused.message}`, refused.errno);
        }
        if (performance.now() - began < TURN_MS) continue;
        // Others have something to say, too; and those who read the events must be able to.
        await new Promise((resolve) => setTimeout(resolve));
        began = performance.now();
      }
    });
    this.#publishing = publishing.catch(() => {});
    return publishing;
  }

  #published({ id, time }: Published): void {
    this.#counters.published++;
    if (this.#reads === undefined) return;
    this.#unread.push(new TextEncoder().encode(`${JSON.stringify({ id, time })}\n`));
    this.#wake.resolve();
  }

  async #nextPublished(): Promise<Uint8Array | undefined> {
    if (this.#unread.size === 0) {
      this.#wake = Promise.withResolvers();
      await this.#wake.promise;
    }
    return this.#unread.shift();
  }
}
