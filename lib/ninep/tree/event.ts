/**
 * `event` and `event.json`, opened: a subscription of its own for each fid. It is read as records, one event each; what is
 * written into it is a filter, and begins it anew.
 *
 * @module
 */
import { type Bus, type Subscription, UnreadableEventError } from "../../bus.ts";
import type { BusEvent } from "../../event.ts";
import { Errno, NinepError } from "../error.ts";
import type { OpenFile, OpenMode, ReadRequest, WriteRequest } from "../file.ts";
import type { Counters } from "./counters.ts";
import { asNinepError } from "./refusal.ts";
import { RecordReads } from "./records.ts";
import { type EventRequest, EVERY_EVENT, parseRequest } from "./request.ts";

const NEWLINE = 10;

/** How events are shown. */
export interface EventFormat {
  /** The record of an event, without the newline at its end. */
  record(event: BusEvent, request: EventRequest): Uint8Array;
  /** Refuses a request that this format has no way to answer. */
  check(request: EventRequest): void;
}

/** The events that one fid reads. */
export class EventStream implements OpenFile {
  readonly #bus: Bus;
  readonly #format: EventFormat;
  readonly #counters: Counters;
  readonly #reads: RecordReads;
  #request = EVERY_EVENT;
  #subscription: Subscription | undefined;

  private constructor(bus: Bus, format: EventFormat, how: OpenMode, counters: Counters) {
    this.#bus = bus;
    this.#format = format;
    this.#counters = counters;
    this.#reads = new RecordReads(how, () => this.#next());
  }

  /**
   * Opens one. Where nothing can be written into it, it has begun when the promise resolves: nothing that is published from
   * then on is missed. Otherwise it begins with the first read.
   *
   * @param bus where the events come from
   * @param format how they are shown
   * @param how how the file is opened
   * @param counters what counts them
   * @throws {NinepError} if the bus has none to give
   */
  static async open(bus: Bus, format: EventFormat, how: OpenMode, counters: Counters): Promise<EventStream> {
    const stream = new EventStream(bus, format, how, counters);
    if (!how.write) await stream.#begin();
    return stream;
  }

  /** Asks for events. A read of 0 bytes is answered as soon as no event can be missed any more. */
  read(request: ReadRequest): void {
    if (request.count > 0) return this.#reads.read(request);
    this.#begin().then(() => request.answer(new Uint8Array(0)), (error) => request.fail(error));
  }

  /** Takes a filter in place of the one before; what was pending is gone. */
  write(request: WriteRequest): void {
    try {
      const asked = parseRequest(new TextDecoder().decode(request.data));
      this.#format.check(asked);
      this.#request = asked;
    } catch (error) {
      return request.fail(asNinepError(error));
    }
    this.#end();
    request.done();
  }

  flush(request: ReadRequest): void {
    this.#reads.flush(request);
  }

  close(): void {
    this.#end();
    this.#reads.fail(new NinepError("the file was closed", Errno.EBADF));
  }

  /** Begins the subscription, if it has not begun. */
  async #begin(): Promise<void> {
    try {
      await this.#subscribe().ready;
    } catch (error) {
      this.#end();
      throw asNinepError(error);
    }
  }

  #subscribe(): Subscription {
    if (this.#subscription !== undefined) return this.#subscription;
    this.#subscription = this.#bus.subscribe(this.#request.filters, { from: this.#request.from });
    this.#counters.subscriptions++;
    return this.#subscription;
  }

  /** Ends the subscription, if it has begun, and with it what is pending. */
  #end(): void {
    this.#reads.discard();
    const subscription = this.#subscription;
    if (subscription === undefined) return;
    this.#subscription = undefined;
    this.#counters.subscriptions--;
    subscription.return();
  }

  /** The next record; `undefined` if the subscription that was asked for it has been replaced. */
  async #next(): Promise<Uint8Array | undefined> {
    let subscription;
    try {
      subscription = this.#subscribe();
      const { value: event } = await subscription.next();
      if (subscription !== this.#subscription) return undefined;
      if (event === undefined) throw new NinepError("the bus has ended", Errno.EPIPE);
      this.#counters.delivered++;
      return terminated(this.#format.record(event, this.#request));
    } catch (error) {
      if (subscription !== this.#subscription) return undefined;
      // One event that cannot be read is passed by; after anything else, the next read begins anew.
      if (!(error instanceof UnreadableEventError)) this.#end();
      throw asNinepError(error);
    }
  }
}

function terminated(record: Uint8Array): Uint8Array {
  const line = new Uint8Array(record.length + 1);
  line.set(record);
  line[record.length] = NEWLINE;
  return line;
}
