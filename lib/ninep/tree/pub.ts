/**
 * `pub` and `pub.json`, opened: what is written into them is published, one event a line.
 *
 * @module
 */
import type { Bus, Published } from "../../bus.ts";
import { concatenated } from "../../bytes.ts";
import { checkTopic } from "../../event.ts";
import { Queue } from "../../queue.ts";
import { Errno, NinepError } from "../error.ts";
import type { OpenFile, OpenMode, ReadRequest, WriteRequest } from "../file.ts";
import type { Counters } from "./counters.ts";
import { RecordReads } from "./records.ts";
import { asNinepError } from "./refusal.ts";

const NEWLINE = 10;
/** The longest line, in bytes: 64 MiB, and some more for what is around the payload. */
const MAX_LINE_BYTES = 96 * 1024 * 1024;
/** How many events may be published before somebody who opened the file to read, too, has read of the first. */
const MAX_UNREAD = 65_536;

/** What a line says. */
export interface Publication {
  readonly topic: string;
  readonly payload: Uint8Array | string;
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
  /** The line that has no newline yet, in pieces. */
  #begun: Uint8Array[] = [];
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
      // Whoever was refused will not go on where the refused write ended.
      this.#forgetBegun();
      return request.fail(error);
    }
    this.#publish(publications).then(() => request.done(), (error) => request.fail(error));
  }

  flush(request: ReadRequest): void {
    this.#reads?.flush(request);
  }

  /** On a clunk, publishes the line that has no newline. After a hangup nobody knows whether it was whole. */
  close(how: "clunk" | "hangup"): Promise<void> | undefined {
    this.#reads?.fail(new NinepError("the file was closed", Errno.EBADF));
    if (how === "hangup" || this.#begunBytes === 0) return undefined;
    const line = concatenated(this.#begun);
    this.#forgetBegun();
    return this.#publish([this.#publication(line)]);
  }

  /** Adds to the line that was begun, and takes the lines that are whole. */
  #linesWith(data: Uint8Array): Uint8Array[] {
    const lines: Uint8Array[] = [];
    let start = 0;
    for (let end; (end = data.indexOf(NEWLINE, start)) >= 0; start = end + 1) {
      lines.push(concatenated([...this.#begun, data.slice(start, end)]));
      this.#forgetBegun();
    }
    if (start < data.length) {
      this.#begun.push(data.slice(start));
      this.#begunBytes += data.length - start;
    }
    if (this.#begunBytes > MAX_LINE_BYTES) {
      throw new NinepError(`a line has ${this.#begunBytes} bytes: ${MAX_LINE_BYTES} are allowed`, Errno.EFBIG);
    }
    return lines;
  }

  #forgetBegun(): void {
    this.#begun = [];
    this.#begunBytes = 0;
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
      for (const [number, { topic, payload }] of publications.entries()) {
        try {
          this.#published(await this.#bus.publish(topic, payload));
        } catch (error) {
          const refused = asNinepError(error);
          if (number === 0 || !(refused instanceof NinepError)) throw refused;
          throw new NinepError(`published ${number} of ${publications.length}: ${refused.message}`, refused.errno);
        }
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
