/**
 * What a stream keeps, for one reader: in batches, each asked for when there is room for it. It lasts until the reader has caught up.
 *
 * @module
 */
import { BusError, type GapError } from "../../bus.ts";
import type { BusEvent } from "../../event.ts";
import { removed } from "./gap.ts";
import type { Msg } from "./library.ts";
import { type LinkUser, reasonOf } from "./link.ts";
import { readMessage, type StreamMessage } from "./message.ts";
import type { Stream } from "./stream.ts";

/** How many events a batch has at most, and how many bytes unless a single one has more. */
const BATCH = 2000;
const BATCH_BYTES = 1024 * 1024;
/** How long the server may take for the next event of a batch, in milliseconds, at least; twice as long at most. */
const STALL_MS = 2500;

/** A part of the past. */
export interface Batch {
  /** Its events in order, and in their places what is to be told of those that are gone. */
  readonly arrivals: readonly (BusEvent | GapError)[];
  /** The sequence up to which all that is wanted has been given. */
  readonly last: number;
  /** Whether the stream had no more when it was asked. */
  readonly isLast: boolean;
}

/** How the past is read. */
export interface PastOptions {
  /** The sequence to begin after. */
  readonly after: number;
  /** Whether payloads are left out, and taken for empty. */
  readonly headersOnly?: boolean;
}

/** What gives events when it is asked for them. */
interface PullConsumer {
  readonly name: string;
  /** How many it had to give when it was made. */
  readonly pending: number;
  /** Whether it has yet to be asked. */
  isNew: boolean;
  /** How many it has given. */
  delivered: number;
}

/** Reads what a stream keeps. */
export class Past {
  readonly #stream: Stream;
  readonly #subjects: readonly string[];
  readonly #headersOnly: boolean;
  #last: number;
  #consumer: PullConsumer | undefined;
  #closed = false;
  /** Gives up what is being waited for. */
  #abort: (() => void) | undefined;

  /**
   * Asks for nothing yet.
   *
   * @param stream what to read
   * @param subjects which events of it
   * @param options where to begin, and how
   */
  constructor(stream: Stream, subjects: readonly string[], { after, headersOnly = false }: PastOptions) {
    this.#stream = stream;
    this.#subjects = subjects;
    this.#headersOnly = headersOnly;
    this.#last = after;
  }

  /**
   * Reads on, however long the server is away.
   *
   * @throws {BusError} if the stream is gone, or this is closed
   */
  async read(): Promise<Batch> {
    return await this.#insist(async () => {
      try {
        return await this.#readBatch();
      } catch (error) {
        this.#consumer = undefined;
        throw error;
      }
    });
  }

  /** How many events there are to come, including those that only look as if they were wanted. */
  async pending(): Promise<number> {
    return (this.#consumer ??= await this.#insist(() => this.#consume())).pending;
  }

  /** Gives it up. */
  close(): void {
    this.#closed = true;
    this.#abort?.();
    if (this.#consumer !== undefined && this.#stream.link.isUp) this.#stream.removeConsumer(this.#consumer.name);
    this.#consumer = undefined;
  }

  #insist<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    return this.#stream.insist(() => this.#stream.inTurn(ask), () => !this.#closed);
  }

  async #readBatch(): Promise<Batch> {
    const consumer = this.#consumer ??= await this.#consume();
    const after = this.#last;
    const messages = consumer.isNew && consumer.pending === 0 ? [] : await this.#pull(consumer);
    consumer.isNew = false;
    const arrivals: (BusEvent | GapError)[] = messages.map(({ event }) => event);
    await this.#markRemoved(after, messages, arrivals);
    this.#last = Math.max(after, messages.at(-1)?.sequence ?? 0);
    return { arrivals, last: this.#last, isLast: (messages.at(-1)?.pending ?? 0) === 0 };
  }

  async #consume(): Promise<PullConsumer> {
    const name = `ollie-${crypto.randomUUID()}`;
    const { num_pending } = await this.#stream.manager.consumers.add(this.#stream.name, {
      ...this.#stream.consumer(this.#last, this.#subjects),
      name,
      ...this.#headersOnly ? { headers_only: true } : {},
    });
    return { name, pending: num_pending, isNew: true, delivered: 0 };
  }

  /** Tells of what has been removed, if anything may have been: where not the next event in the stream has come. */
  async #markRemoved(
    after: number,
    messages: readonly StreamMessage[],
    arrivals: (BusEvent | GapError)[],
  ): Promise<void> {
    let before = after;
    for (const [at, { sequence }] of messages.entries()) {
      if (sequence > before + 1) {
        const { first, firstTime } = await this.#stream.info();
        const until = Math.min(first, sequence) - 1;
        // The oldest gap is enough: it says up to where.
        if (until > before) arrivals.splice(at, 0, removed(this.#stream, { after: before, until, time: firstTime }));
        return;
      }
      before = sequence;
    }
  }

  /** Asks for as much as there is, up to a batch. */
  #pull(consumer: PullConsumer): Promise<StreamMessage[]> {
    const { link, name, manager } = this.#stream;
    const { promise, resolve, reject } = Promise.withResolvers<StreamMessage[]>();
    const messages: StreamMessage[] = [];
    const subject = `${manager.getOptions().apiPrefix}.CONSUMER.MSG.NEXT.${name}.${consumer.name}`;
    let asked = BATCH;
    const ask = (batch: number, limit: object) => {
      asked = batch;
      const request = JSON.stringify({ batch, no_wait: true, ...limit });
      link.connection.publish(subject, request, { reply: inbox.getSubject() });
    };
    const receive = (message: Msg) => {
      const read = readMessage(this.#stream, message);
      if (read === undefined) {
        const end = endOf(message);
        if (end instanceof Error) reject(end);
        // A single event may be longer than a batch.
        else if (end === "full" && messages.length === 0) ask(1, {});
        else if (end !== "none") resolve(messages);
        return;
      }
      if (read.delivered !== ++consumer.delivered) return reject(new Error("an event has not come"));
      messages.push(read);
      if (messages.length === asked || read.pending === 0) resolve(messages);
    };
    let isLate = false;
    const timer = setInterval(() => {
      if (isLate) messages.length > 0 ? resolve(messages) : reject(new Error("the server does not answer"));
      isLate = true;
    }, STALL_MS);
    const inbox = link.connection.subscribe(`_INBOX.${crypto.randomUUID()}`, {
      callback: (error, message) => {
        isLate = false;
        if (error === null) receive(message);
        else reject(new BusError(`${link.shown} gives no events: ${reasonOf(error)}`));
      },
    });
    this.#abort = () => reject(new Error("it was given up"));
    const user: LinkUser = { down: () => reject(new Error("the connection has ended")), up() {}, lost: reject };
    link.add(user);
    ask(BATCH, { max_bytes: BATCH_BYTES });
    return promise.finally(() => {
      clearInterval(timer);
      inbox.unsubscribe();
      link.delete(user);
    });
  }
}

/** How the server says that a batch has ended: there is no more, or no more room; or why it gives none. */
function endOf({ headers }: Msg): "end" | "full" | "none" | Error {
  const description = headers?.description ?? "";
  switch (headers?.code) {
    case 100:
      return "none";
    case 404:
    case 408:
      return "end";
    case 409:
      if (/maxbytes/i.test(description)) return "full";
      if (/batch completed/i.test(description)) return "end";
  }
  return new Error(description || "the consumer has gone");
}
