/**
 * A connection to a hub that stays up: it is made again whenever it ends, and then goes on where it was. What it is subscribed to
 * and what it has yet to publish are its own; a `Spoke` and a `HubBus` are what programs see of it.
 *
 * It needs nothing but the platform's `WebSocket`, so that it runs in Deno, browsers, Node and Bun.
 *
 * @module
 */
import { BusError, type EventMark, type Published, RefusedEventError, type SubscribeOptions } from "../bus.ts";
import type { Timer } from "../time.ts";
import type { HubAddress } from "./client/address.ts";
import { Identification } from "./client/identification.ts";
import { ClientConnection, type ConnectionTiming, type Ending } from "./client/connection.ts";
import { PublishQueue } from "./client/publish_queue.ts";
import { type Answer, readAnswer, readReceived, type Received } from "./client/received.ts";
import { Subscriptions } from "./client/subscriptions.ts";
import { EnvelopeError, isControl, topicOf } from "./envelope.ts";

/** What a client tells whoever uses it. */
export interface HubClientHandlers {
  /** An event has come. */
  event(topic: string, received: Received): void;
  /** It is connected. */
  opened?(): unknown;
  /** The filters that were asked for first are in force, from this place on, if the hub tells. */
  began?(place: EventMark | null | undefined): void;
  /** The connection has ended, or could not be made. It is tried again unless the client is told not to. */
  ended?(ending: Ending): unknown;
  /** Some filters were refused, for a reason for a person. They are asked for again on the next connection. */
  refused?(filters: readonly string[], reason: string): void;
  /** It could not go on where it was: events may have been missed. */
  missed?(reason: string): void;
  /** Events that it was to have are gone: they were removed before. */
  gap?(gap: HubGap): void;
  /** The hub told of an error that is about nothing which was asked. */
  error?(reason: string): void;
}

/** What a hub tells of events that are gone. */
export interface HubGap {
  /** The id of the event after which they were to come, if there was any. */
  readonly after: string | undefined;
  /** The last of them. */
  readonly until: EventMark;
  /** The same, for a person. */
  readonly reason: string;
}

/** How a client may differ from the usual. */
export interface HubClientOptions {
  /** How many bytes of published events may wait for the hub. 1 MiB if not given. */
  readonly maxQueueBytes?: number;
  /** Where it begins. */
  readonly from?: SubscribeOptions["from"];
  /** Whether events are to come with the buses that they have been on. */
  readonly via?: boolean;
  /** Parses what the hub sends. `JSON.parse` if not given. */
  readonly parse?: (text: string) => unknown;
  /** How long it waits for what. */
  readonly timing?: Partial<ClientTiming>;
}

/** How long a client waits for what, in milliseconds. */
export interface ClientTiming extends ConnectionTiming {
  /** Before it connects again for the first time; twice as long each time after. */
  readonly retryMs: number;
  /** At most so long. */
  readonly maxRetryMs: number;
  /** For what was published to be acknowledged, when it is closed. */
  readonly drainMs: number;
}

const TIMING: ClientTiming = {
  connectMs: 10_000,
  idleMs: 15_000,
  answerMs: 10_000,
  retryMs: 100,
  maxRetryMs: 5000,
  drainMs: 5000,
};

const MAX_QUEUE_BYTES = 1024 * 1024;
/** The close code of who was sent something too large. */
const TOO_LARGE = 1009;
/** The close code of a hub that was asked for too much nonsense. */
const TOO_MANY_ERRORS = 1008;

/**
 * A client of a hub. It begins to connect at once.
 *
 * Filters come and go by {@linkcode add} and {@linkcode remove}. After a connection has ended, what was in force goes on where it
 * was: no event is missed, and none comes twice. On a hub whose bus keeps nothing that is not to be had, and
 * {@linkcode HubClientHandlers.missed} is called.
 */
export class HubClient {
  readonly #address: HubAddress;
  readonly #handlers: HubClientHandlers;
  readonly #parse: (text: string) => unknown;
  readonly #timing: ClientTiming;
  readonly #subscriptions: Subscriptions;
  readonly #queue: PublishQueue;
  readonly #identification = new Identification((envelope) => this.#connection?.send(envelope));
  #connection: ClientConnection | undefined;
  #retry: Timer | undefined;
  #attempts = 0;
  /** Whether it has answered as a hub does. */
  #isHub = false;
  #paused = false;
  #closing: Promise<void> | undefined;
  #failure: BusError | undefined;

  /**
   * @param address where the hub is
   * @param handlers whom to tell, never before this has returned
   * @param options how it differs from the usual
   */
  constructor(address: HubAddress, handlers: HubClientHandlers, options: HubClientOptions = {}) {
    this.#address = address;
    this.#handlers = handlers;
    this.#parse = options.parse ?? ((text) => JSON.parse(text));
    this.#timing = { ...TIMING, ...options.timing };
    this.#queue = new PublishQueue(address.url, options.maxQueueBytes ?? MAX_QUEUE_BYTES);
    this.#subscriptions = this.#subscriptionsFrom(options.from, options.via);
    this.#connect();
  }

  /** Whether it is connected now. */
  get isOpen(): boolean {
    return this.#connection?.isOpen ?? false;
  }

  /** Subscribes. What is wanted already stays as it is. */
  add(filter: string): void {
    if (this.#closing === undefined) this.#subscriptions.add(filter);
  }

  /** Unsubscribes. */
  remove(filter: string): void {
    this.#subscriptions.remove(filter);
  }

  /**
   * Waits until all filters that are wanted now are in force, and so that there is a connection.
   *
   * @throws {BusError} if one of them is refused, or the client is closed before
   */
  async settled(): Promise<void> {
    if (this.#closing !== undefined) throw this.#closedError();
    await this.#subscriptions.settled();
  }

  /**
   * Publishes an event. Events are sent in the order of these calls, and sent again where a connection ended before the hub had
   * acknowledged them: one that it had put onto the bus by then is there twice, but none is lost.
   *
   * @param topic its topic
   * @param envelope it, as an envelope
   * @returns what the bus gave it, once the hub has acknowledged it
   * @throws {BusError} at once, if too much is waiting already, or the client is closed
   */
  publish(topic: string, envelope: string): Promise<Published> {
    if (this.#closing !== undefined) throw this.#closedError();
    const published = this.#queue.add(topic, envelope);
    this.#send();
    return published;
  }

  /**
   * Asks which bus the hub is on; once for each connection.
   *
   * @returns its identity, however long the hub is away
   * @throws {BusError} if the hub cannot tell, or the client is closed
   */
  identity(): Promise<string> {
    if (this.#closing !== undefined) throw this.#closedError();
    return this.#identification.ask();
  }

  // Ending it, for a while and for good.

  /** Ends the connection, and makes no other until {@linkcode resume} is called. */
  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#leave();
  }

  /** Connects again, and goes on where it was. */
  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#failure === undefined) this.#connect();
  }

  /**
   * Ends it. Nothing is received from then on. What has been published is still sent, for some seconds at most.
   *
   * @returns when the connection has ended
   */
  close(): Promise<void> {
    return this.#closing ??= this.#drainAndLeave();
  }

  /**
   * Ends it at once.
   *
   * @param error what those who wait for it are told
   */
  fail(error: BusError): void {
    this.#closing ??= Promise.resolve();
    this.#end(error);
  }

  async #drainAndLeave(): Promise<void> {
    this.#subscriptions.fail(this.#closedError());
    this.#subscriptions.clear();
    if (this.#queue.size > 0 && !this.#paused) {
      let timer: Timer;
      const late = new Promise<void>((resolve) => timer = setTimeout(resolve, this.#timing.drainMs));
      await Promise.race([this.#queue.drained, late]).finally(() => clearTimeout(timer));
    }
    await this.#end(this.#closedError());
  }

  /** Ends it, for good. */
  #end(error: BusError): Promise<void> | undefined {
    this.#failure ??= error;
    this.#subscriptions.fail(this.#failure);
    this.#queue.fail(this.#failure);
    this.#identification.fail(this.#failure);
    return this.#leave();
  }

  #closedError(): BusError {
    return this.#failure ?? new BusError(`the connection to ${this.#address.url} was closed`);
  }

  // The connection.

  #connect(): void {
    this.#connection = new ClientConnection(this.#address, {
      opened: () => {
        this.#subscriptions.sync();
        this.#identification.connected();
        this.#handlers.opened?.();
      },
      received: (text) => this.#receive(text),
      ended: (ending) => this.#ended(ending),
    }, this.#timing);
  }

  #ended(ending: Ending): void {
    this.#forgetConnection(ending.code === TOO_LARGE);
    if (ending.code === TOO_MANY_ERRORS) this.#attempts = Infinity;
    const delay = Math.min(this.#timing.maxRetryMs, this.#timing.retryMs * 2 ** this.#attempts++);
    // Not all clients of a hub that was away come back at once.
    this.#retry = setTimeout(() => this.#connect(), delay * (0.5 + Math.random() / 2));
    this.#handlers.ended?.(ending);
  }

  /** Ends the connection, or the wait for one. */
  #leave(): Promise<void> | undefined {
    clearTimeout(this.#retry);
    const closed = this.#connection?.close();
    this.#forgetConnection(false);
    return closed;
  }

  #forgetConnection(wasTooLarge: boolean): void {
    this.#connection = undefined;
    this.#subscriptions.disconnected();
    this.#identification.disconnected();
    this.#queue.reset(wasTooLarge);
  }

  /** Sends what has been published, as far as it may be: whoever subscribes and then publishes gets what they published. */
  #send(): void {
    const connection = this.#connection;
    if (connection?.isOpen && this.#subscriptions.isAsked) this.#queue.flush((frame) => connection.send(frame));
  }

  #subscriptionsFrom(from: SubscribeOptions["from"], via: boolean | undefined): Subscriptions {
    const isOpen = () => this.isOpen;
    return new Subscriptions(
      {
        hub: this.#address.url,
        get isOpen() {
          return isOpen();
        },
        tell: (type, payload, ref) => this.#connection?.send(JSON.stringify({ type, id: "", payload, ref })),
        settled: () => this.#send(),
        began: (place) => this.#handlers.began?.(place),
        refused: (filters, reason) => this.#handlers.refused?.(filters, reason),
        missed: (reason) => this.#handlers.missed?.(reason),
      },
      from,
      via,
    );
  }

  // What comes.

  #receive(text: string): void {
    const received = readReceived(text, this.#parse);
    if (received === undefined) {
      // Whoever has answered as a hub does is one: to end the connection would not help, since the same may come again.
      if (this.#isHub) return this.#handlers.error?.("the hub sent what is no envelope");
      return this.#connection?.fail("it sent what is no envelope: it is no hub");
    }
    if (received.type !== "__error") this.#attempts = 0;
    if (isControl(received)) this.#control(received);
    else this.#event(received, text.length);
  }

  #control({ type, payload }: Received): void {
    this.#isHub = true;
    const answer = readAnswer(payload);
    if (type === "__subscribed") {
      this.#subscriptions.accepted(answer);
    } else if (type === "__published") {
      const { id = "", time = "" } = answer.place ?? {};
      this.#queue.answered(answer.ref, { id, time });
      this.#send();
    } else if (type === "__identity") {
      this.#identification.answered(answer.identity);
    } else if (type === "__gap") {
      this.#gap(answer);
    } else if (type === "__error") {
      this.#error(answer);
    }
  }

  #gap({ after, place, reason }: Answer): void {
    if (place && this.#closing === undefined && this.#subscriptions.isNewGap(place)) {
      this.#handlers.gap?.({ after, until: place, reason });
    }
  }

  #error(answer: Answer): void {
    if (this.#subscriptions.rejected(answer)) return;
    const failure = new (answer.refused ? RefusedEventError : BusError)(`${this.#address.url}: ${answer.reason}`);
    if (this.#queue.answered(answer.ref, failure)) return this.#send();
    if (this.#identification.rejected(answer.ref, failure)) return;
    // The hub can no longer serve what is in force. A new connection finds out whether that has passed.
    if (this.#subscriptions.concerns(answer)) this.#connection?.fail(answer.reason);
    else this.#handlers.error?.(answer.reason);
  }

  #event(received: Received, bytes: number): void {
    let topic;
    try {
      topic = topicOf(received);
    } catch (error) {
      if (!(error instanceof EnvelopeError)) throw error;
      return this.#connection?.fail(`it sent what is no event: ${error.message}`);
    }
    const { at, time = "" } = received;
    if (at !== undefined && !this.#subscriptions.isNew(topic, { id: at, time }, bytes)) return;
    if (this.#closing === undefined) this.#handlers.event(topic, received);
  }
}
