/**
 * A connection to a hub that stays up: it is made again whenever it ends, and then goes on where it was. What it is subscribed to
 * and what it has yet to publish are its own; a `Spoke` and a `HubBus` are what programs see of it.
 *
 * It needs nothing but the platform's `WebSocket`, so that it runs in Deno, browsers, Node and Bun.
 *
 * @module
 */
import { BusError, type EventMark, type Published, type SubscribeOptions } from "../bus.ts";
import { compileFilter } from "../filter.ts";
import type { Timer } from "../time.ts";
import type { HubAddress } from "./client/address.ts";
import { ClientConnection, type ConnectionTiming, type Ending } from "./client/connection.ts";
import { PublishQueue } from "./client/publish_queue.ts";
import { type Answer, readAnswer, readReceived, type Received } from "./client/received.ts";
import { type Beginning, isAfter, Trail } from "./client/trail.ts";
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
  /** The hub told of an error that is about nothing which was asked. */
  error?(reason: string): void;
}

/** How a client may differ from the usual. */
export interface HubClientOptions {
  /** How many bytes of published events may wait for the hub. 1 MiB if not given. */
  readonly maxQueueBytes?: number;
  /** Where it begins. */
  readonly from?: SubscribeOptions["from"];
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

/** A filter that is wanted. */
interface Wanted {
  /** It has been in force, so that what came since is missed as long as it is not. */
  had: boolean;
  /** What lies before this is not for it. */
  since: EventMark | undefined;
  /** Its test, made when it is needed. */
  matches?: (topic: string) => boolean;
}

/** A `__subscribe` that has not been answered. */
interface Ask {
  readonly ref: string;
  readonly filters: readonly string[];
  /** `first`: from a beginning of its own; `again`: from where they were; `anew`: from now, because that is not to be had. */
  readonly kind: "first" | "again" | "anew";
  /** It begins now. */
  readonly isFromNow: boolean;
  /** Why it is `anew`. */
  readonly reason: string;
}

/** Somebody who waits for filters to be in force. */
interface Waiter {
  readonly filters: readonly string[];
  resolve(): void;
  reject(error: BusError): void;
}

/**
 * A client of a hub. It begins to connect at once.
 *
 * Filters come and go by {@linkcode add} and {@linkcode remove}; what changes in one turn of the event loop is asked for together,
 * and one `__subscribe` is under way at a time. After a connection has ended, what was in force is asked for again in one list,
 * from where it was: no event is missed, and none comes twice. On a hub whose bus keeps nothing that is not to be had, and
 * {@linkcode HubClientHandlers.missed} is called.
 */
export class HubClient {
  readonly #address: HubAddress;
  readonly #handlers: HubClientHandlers;
  readonly #from: SubscribeOptions["from"];
  readonly #parse: (text: string) => unknown;
  readonly #timing: ClientTiming;
  readonly #trail = new Trail();
  readonly #queue: PublishQueue;
  readonly #wanted = new Map<string, Wanted>();
  /** The filters that this connection has in force. */
  readonly #held = new Set<string>();
  /** The filters that this connection was refused. */
  readonly #refused = new Set<string>();
  #waiters: Waiter[] = [];
  #connection: ClientConnection | undefined;
  #ask: Ask | undefined;
  #asked = 0;
  #syncIsDue = false;
  /** Some filters are wanted that have yet to be asked for, when what is under way has been answered. */
  #hasMoreToAsk = false;
  #retry: Timer | undefined;
  #attempts = 0;
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
    this.#from = options.from ?? "now";
    this.#parse = options.parse ?? ((text) => JSON.parse(text));
    this.#timing = { ...TIMING, ...options.timing };
    this.#queue = new PublishQueue(address.url, options.maxQueueBytes ?? MAX_QUEUE_BYTES);
    if (this.#from === "start") this.#trail.begin(null);
    else if (typeof this.#from === "object" && "after" in this.#from) {
      // When that event was published is not known: anything that comes is taken to be later.
      this.#trail.begin({ id: this.#from.after, time: "" });
    }
    this.#connect();
  }

  /** Whether it is connected now. */
  get isOpen(): boolean {
    return this.#connection?.isOpen ?? false;
  }

  // What is wanted.

  /** Subscribes. What is wanted already stays as it is. */
  add(filter: string): void {
    if (this.#closing !== undefined || this.#wanted.has(filter)) return;
    this.#wanted.set(filter, { had: false, since: undefined });
    this.#syncSoon();
  }

  /** Unsubscribes. */
  remove(filter: string): void {
    this.#refused.delete(filter);
    if (this.#wanted.delete(filter)) this.#syncSoon();
  }

  /**
   * Waits until all filters that are wanted now are in force, and so that there is a connection.
   *
   * @throws {BusError} if one of them is refused, or the client is closed before
   */
  settled(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closing !== undefined) return reject(this.#closedError());
      this.#waiters.push({ filters: [...this.#wanted.keys()], resolve, reject });
      this.#syncSoon();
    });
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
    this.#wanted.clear();
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
    for (const { reject } of this.#waiters.splice(0)) reject(this.#failure);
    this.#queue.fail(this.#failure);
    return this.#leave();
  }

  #closedError(): BusError {
    return this.#failure ?? new BusError(`the connection to ${this.#address.url} was closed`);
  }

  // The connection.

  #connect(): void {
    this.#connection = new ClientConnection(this.#address, {
      opened: () => this.#opened(),
      received: (text) => this.#receive(text),
      ended: (ending) => this.#ended(ending),
    }, this.#timing);
  }

  #opened(): void {
    this.#sync();
    this.#handlers.opened?.();
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
    for (const filter of this.#held) {
      const wanted = this.#wanted.get(filter);
      if (wanted !== undefined) wanted.had = true;
    }
    this.#held.clear();
    this.#refused.clear();
    this.#ask = undefined;
    this.#queue.reset(wasTooLarge);
  }

  /** Sends what has been published, as far as it may be: whoever subscribes and then publishes gets what they published. */
  #send(): void {
    const connection = this.#connection;
    if (this.#syncIsDue || this.#hasMoreToAsk || !connection?.isOpen) return;
    this.#queue.flush((frame) => connection.send(frame));
  }

  #tell(type: string, payload: unknown, ref?: string): void {
    this.#connection?.send(JSON.stringify({ type, id: "", payload, ref }));
  }

  // Subscribing.

  #syncSoon(): void {
    if (this.#syncIsDue) return;
    this.#syncIsDue = true;
    queueMicrotask(() => {
      this.#syncIsDue = false;
      this.#sync();
    });
  }

  /** Makes what the hub knows agree with what is wanted. */
  #sync(): void {
    if (!this.isOpen) return;
    const dropped = [...this.#held].filter((filter) => !this.#wanted.has(filter));
    if (dropped.length > 0) {
      this.#tell("__unsubscribe", { topic: dropped });
      for (const filter of dropped) this.#held.delete(filter);
    }
    const missing = [...this.#wanted].filter(([filter]) => !this.#held.has(filter) && !this.#refused.has(filter));
    if (this.#ask === undefined && missing.length > 0) this.#askFor(missing);
    this.#hasMoreToAsk = missing.some(([filter]) => !this.#ask?.filters.includes(filter));
    this.#tellWaiters();
    this.#send();
  }

  #askFor(missing: readonly (readonly [filter: string, Wanted])[]): void {
    const had = missing.filter(([, { had }]) => had).map(([filter]) => filter);
    if (had.length > 0) {
      // All of them share one place to come back to.
      const place = this.#trail.resume();
      if (place === undefined) this.#askAnew(had, "its hub did not tell where it was");
      else this.#subscribe(had, place, "again");
    } else {
      this.#subscribe(missing.map(([filter]) => filter), this.#beginning(), "first");
    }
  }

  #beginning(): Beginning {
    if (this.#from === "now" || this.#from === undefined) return { replay: 0 };
    // Some of the past may have come already, before an earlier connection ended.
    return this.#trail.resume() ??
      { replay: typeof this.#from === "object" && "last" in this.#from ? this.#from.last : 0 };
  }

  /** Subscribes from now on, because where it was is not to be had. */
  #askAnew(filters: readonly string[], reason: string): void {
    this.#trail.clear();
    this.#subscribe(filters, { replay: 0 }, "anew", reason);
  }

  #subscribe(filters: readonly string[], beginning: Beginning, kind: Ask["kind"], reason = ""): void {
    const ref = `subscribe ${++this.#asked}`;
    this.#ask = { ref, filters, kind, isFromNow: "replay" in beginning && beginning.replay === 0, reason };
    this.#tell("__subscribe", { topic: filters, ...beginning }, ref);
  }

  #subscribed(ask: Ask, { place }: Answer): void {
    this.#ask = undefined;
    // If nothing has been received yet: else that is the place.
    if (place !== undefined) this.#trail.begin(place);
    for (const filter of ask.filters) {
      this.#held.add(filter);
      const wanted = this.#wanted.get(filter);
      // Where the past was asked for, what comes may lie before that place.
      if (wanted !== undefined && ask.isFromNow) wanted.since = place?.time ? place : undefined;
    }
    if (ask.kind === "anew") this.#handlers.missed?.(ask.reason);
    if (ask.kind === "first") this.#handlers.began?.(place);
    this.#sync();
  }

  #notSubscribed(ask: Ask, { topic, reason }: Answer): void {
    this.#ask = undefined;
    const [culprit] = ask.filters.length > 1 ? ask.filters.filter((filter) => filter === topic) : [];
    if (culprit !== undefined) this.#refuse([culprit], reason);
    else if (ask.kind === "again") return this.#askAnew(ask.filters, reason);
    else this.#refuse(ask.filters, reason);
    this.#sync();
  }

  #refuse(filters: readonly string[], reason: string): void {
    for (const filter of filters) this.#refused.add(filter);
    const waiting = this.#waiters;
    const isConcerned = (waiter: Waiter) => waiter.filters.some((filter) => filters.includes(filter));
    this.#waiters = waiting.filter((waiter) => !isConcerned(waiter));
    for (const { reject } of waiting.filter(isConcerned)) reject(new BusError(`${this.#address.url}: ${reason}`));
    this.#handlers.refused?.(filters, reason);
  }

  #tellWaiters(): void {
    if (this.#waiters.length === 0) return;
    const isInForce = (filter: string) => this.#held.has(filter) || !this.#wanted.has(filter);
    const waiting = this.#waiters;
    this.#waiters = waiting.filter(({ filters }) => !filters.every(isInForce));
    for (const { filters, resolve } of waiting) if (filters.every(isInForce)) resolve();
  }

  // What comes.

  #receive(text: string): void {
    const received = readReceived(text, this.#parse);
    if (received === undefined) return this.#connection?.fail("it sent what is no envelope: it is no hub");
    if (received.type !== "__error") this.#attempts = 0;
    if (isControl(received)) this.#control(received);
    else this.#event(received, text.length);
  }

  #control({ type, payload }: Received): void {
    const answer = readAnswer(payload);
    const ask = this.#ask;
    if (type === "__subscribed") {
      if (ask !== undefined) this.#subscribed(ask, answer);
    } else if (type === "__published") {
      const { id = "", time = "" } = answer.place ?? {};
      this.#queue.answered(answer.ref, { id, time });
      this.#send();
    } else if (type === "__error") {
      this.#error(answer);
    }
  }

  #error(answer: Answer): void {
    const ask = this.#ask;
    if (ask !== undefined && isAbout(ask, answer)) return this.#notSubscribed(ask, answer);
    if (this.#queue.answered(answer.ref, new BusError(`${this.#address.url}: ${answer.reason}`))) return this.#send();
    const topics = Array.isArray(answer.topic) ? answer.topic : [answer.topic];
    // The hub can no longer serve what is in force. A new connection finds out whether that has passed.
    if (topics.some((topic) => this.#held.has(topic))) this.#connection?.fail(answer.reason);
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
    if (received.at !== undefined) {
      const mark = { id: received.at, time: received.time ?? "" };
      if (!this.#trail.note(mark, bytes)) return;
      if (this.#ask?.kind === "again" && this.#isTooOld(topic, mark)) return;
    }
    if (this.#closing === undefined) this.#handlers.event(topic, received);
  }

  /** Whether only filters match that were added after the event. Those that come back share the place of the oldest. */
  #isTooOld(topic: string, mark: EventMark): boolean {
    for (const [filter, wanted] of this.#wanted) {
      wanted.matches ??= compileFilter(filter);
      if (wanted.matches(topic) && (wanted.since === undefined || isAfter(mark, wanted.since))) return false;
    }
    return true;
  }
}

/** Whether an `__error` answers a `__subscribe`. */
function isAbout(ask: Ask, { ref, topic }: Answer): boolean {
  if (ref !== undefined) return ref === ask.ref;
  if (typeof topic === "string") return ask.filters.includes(topic);
  return JSON.stringify(topic) === JSON.stringify(ask.filters);
}
