/**
 * `event` and `event.json`, opened: a subscription of its own for each fid. It is read as records, one event each; what is
 * written into it is a filter, and begins it anew.
 *
 * @module
 */
import { type Bus, BusError, GapError, type Subscription, UnreadableEventError } from "../../bus.ts";
import { BEFORE_ALL, placeOf } from "../../bus/place.ts";
import type { BusEvent } from "../../event.ts";
import { Errno, NinepError } from "../error.ts";
import type { OpenFile, OpenMode, ReadRequest, WriteRequest } from "../file.ts";
import type { Counters } from "./counters.ts";
import { asNinepError, textIn } from "./refusal.ts";
import { RecordReads } from "./records.ts";
import { type EventRequest, EVERY_EVENT, parseRequest } from "./request.ts";

/** How events are shown. */
export interface EventFormat {
  /** The record of an event, with a newline at its end. */
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
   * Opens one. Where nothing can be written into it, there is a promise, and it has begun when that resolves: nothing that is
   * published from then on is missed. Otherwise it begins with the first read.
   *
   * @param bus where the events come from
   * @param format how they are shown
   * @param how how the file is opened
   * @param counters what counts them
   * @throws {NinepError} if the bus has none to give
   */
  static open(bus: Bus, format: EventFormat, how: OpenMode, counters: Counters): EventStream | Promise<EventStream> {
    const stream = new EventStream(bus, format, how, counters);
    return how.write ? stream : stream.#begin().then(() => stream);
  }

  /** Asks for events. A read of 0 bytes is answered as soon as no event can be missed any more. */
  read(request: ReadRequest): void {
    if (request.count > 0) return this.#reads.read(request);
    this.#begin().then(() => request.answer(new Uint8Array(0)), (error) => request.fail(error));
  }

  /** Takes a filter in place of the one before; what was pending is gone. */
  write(request: WriteRequest): void {
    try {
      const asked = parseRequest(textIn(request.data, "the request"));
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
    const subscription = this.#subscribe();
    try {
      await subscription.ready;
    } catch (error) {
      if (subscription === this.#subscription) this.#unsubscribe();
      throw asNinepError(error);
    }
  }

  #subscribe(): Subscription {
    if (this.#subscription !== undefined) return this.#subscription;
    try {
      this.#subscription = this.#bus.subscribe(this.#request.filters, { from: this.#request.from });
    } catch (error) {
      // It is what was asked for that cannot be.
      if (error instanceof BusError) throw new NinepError(error.message, Errno.EINVAL, { cause: error });
      throw asNinepError(error);
    }
    this.#counters.subscriptions++;
    return this.#subscription;
  }

  /** Ends the subscription, if it has begun, and with it what is pending. */
  #end(): void {
    this.#reads.discard();
    this.#unsubscribe();
  }

  #unsubscribe(): void {
    const subscription = this.#subscription;
    if (subscription === undefined) return;
    this.#subscription = undefined;
    this.#counters.subscriptions--;
    subscription.return();
  }

  /** The next record; `undefined` if the subscription that was asked for it has been replaced. */
  #next(): Promise<Uint8Array | undefined> {
    let subscription: Subscription;
    try {
      subscription = this.#subscribe();
    } catch (error) {
      return Promise.reject(error);
    }
    return subscription.next().then(
      ({ value }) => subscription === this.#subscription ? this.#recordOf(value) : undefined,
      (error) => {
        if (subscription !== this.#subscription) return undefined;
        // What cannot be given is passed by; after anything else, the next read begins anew.
        if (error instanceof GapError) {
          this.#goOnFrom({ ...placeOf(this.#request.from) ?? BEFORE_ALL, gone: error.until });
        } else if (!(error instanceof UnreadableEventError)) this.#unsubscribe();
        throw asNinepError(error);
      },
    );
  }

  #recordOf(event: BusEvent | undefined): Uint8Array {
    if (event === undefined) {
      this.#unsubscribe();
      throw new NinepError("the bus has ended", Errno.EPIPE);
    }
    this.#counters.delivered++;
    this.#goOnFrom({ after: event.id });
    return this.#format.record(event, this.#request);
  }

  /** Should the subscription break, the one after it goes on from there. */
  #goOnFrom(from: EventRequest["from"]): void {
    if (this.#request.from !== "now") this.#request = { ...this.#request, from };
  }
}
