/**
 * Events as Server-Sent Events: the data of each is an envelope, and its id is what a browser's `EventSource` comes back with.
 *
 * Each stream is a subscription of its own to the bus, which is read when the client has room: a slow one costs a place in the log.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 * @module
 */
import {
  type Bus,
  BusError,
  type EventMark,
  GapError,
  type SubscribeOptions,
  type Subscription,
  UnreadableEventError,
} from "../bus.ts";
import type { BusEvent } from "../event.ts";
import { messageOf } from "../thrown.ts";
import { envelopeOf } from "./envelope.ts";
import { EVENTS_A_TURN } from "./turns.ts";

/** What a stream is made of. */
export interface EventStreamOptions {
  /** Where the events are. */
  readonly bus: Bus;
  /** Which of them are wanted. */
  readonly filter: string;
  /** Where to begin. */
  readonly from: NonNullable<SubscribeOptions["from"]>;
  /** Whether somebody may have an event. */
  readonly mayReceive: (topic: string) => boolean;
  /** Where to come back to, for a client that has had no event yet. */
  readonly position: EventMark | null | undefined;
  /** What the client is to be told first, if anything. */
  readonly warning: string | undefined;
  /** Is called once, when it has ended. */
  readonly onEnd: () => void;
}

/** How often something is sent, in milliseconds: proxies drop what is silent, and a peer that has gone is found. */
const HEARTBEAT_MS = 15_000;

/** What stands for the place before the first event, as an id: an `EventSource` that has had none comes back with it. */
export const START_ID = "__start";

/** For how many heartbeats in a row a client may take nothing, before it is taken for dead. */
const MAX_STALLED = 4;

/** How soon an `EventSource` comes back, in milliseconds. */
const RETRY_MS = 1000;

/** A stream of events. */
export class EventSourceStream {
  /** The body of the answer. */
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: EventStreamOptions;
  readonly #subscription: Subscription;
  readonly #utf8 = new TextEncoder();
  #heartbeat: ReturnType<typeof setInterval> | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #ended = false;
  /** How many heartbeats there was no room for in a row. */
  #stalled = 0;

  /**
   * Begins one.
   *
   * @param options of what
   * @throws {FilterError} if the filter is not one
   * @throws {BusError} if the bus has no past to give
   */
  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#subscription = options.bus.subscribe(options.filter, { from: options.from });
    this.body = new ReadableStream({
      start: (controller) => this.#start(controller),
      pull: (controller) => this.#pull(controller),
      cancel: () => this.end(),
    });
  }

  /** Ends it. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#heartbeat);
    this.#subscription.return();
    try {
      this.#controller?.close();
    } catch {
      // The client has ended it.
    }
    this.#options.onEnd();
  }

  async #start(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.#controller = controller;
    const { position, warning, from } = this.#options;
    // An id without data is remembered all the same.
    const id = from === "now" && position !== undefined ? idField(position?.id ?? START_ID) : "";
    const told = warning === undefined ? "" : errorBlock(warning);
    controller.enqueue(this.#utf8.encode(`retry: ${RETRY_MS}\n${id}\n${told}`));
    this.#heartbeat = setInterval(() => {
      if ((controller.desiredSize ?? 0) > 0) {
        this.#stalled = 0;
        controller.enqueue(this.#utf8.encode(":\n\n"));
      } else if (++this.#stalled === MAX_STALLED) {
        controller.error(new Error("nothing has been taken of what was sent"));
        this.end();
      }
    }, HEARTBEAT_MS);
    await this.#subscription.ready.catch(() => {});
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      const text = await this.#next();
      if (this.#ended) return;
      if (text === undefined) this.end();
      else controller.enqueue(this.#utf8.encode(text));
    } catch (error) {
      if (this.#ended) return;
      controller.enqueue(this.#utf8.encode(error instanceof GapError ? gapBlock(error) : errorBlock(messageOf(error))));
      if (!(error instanceof UnreadableEventError || error instanceof GapError)) this.end();
      if (!(error instanceof BusError)) throw error;
    }
  }

  async #next(): Promise<string | undefined> {
    for (let passed = 0;;) {
      const { value, done } = await this.#subscription.next();
      if (done) return undefined;
      if (this.#options.mayReceive(value.topic)) return blockOf(value);
      // Others are to have their turn.
      if (++passed % EVENTS_A_TURN === 0) await new Promise((resolve) => setTimeout(resolve));
    }
  }
}

/** An event, as the lines that make one in a stream. */
function blockOf(event: BusEvent): string {
  return `${idField(event.id)}data: ${envelopeOf(event)}\n\n`;
}

/** What a client is told of what went wrong, likewise. */
function errorBlock(reason: string): string {
  return `event: __error\ndata: ${JSON.stringify({ reason })}\n\n`;
}

/** What a client is told of events that are gone, and its id is the place after them. */
function gapBlock({ message, after, until: { id, time } }: GapError): string {
  return `${idField(id)}event: __gap\ndata: ${
    JSON.stringify({ reason: message, after: after ?? null, at: id, time })
  }\n\n`;
}

/** An id that cannot stand in a line is left out: the client then comes back to the one before it. */
function idField(id: string): string {
  return /[\r\n\0]/.test(id) ? "" : `id: ${id}\n`;
}
