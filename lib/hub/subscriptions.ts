/**
 * What one connection has subscribed to, and where that comes from: from what the hub receives, or, for what was asked for of the
 * past, from a history, until that has caught up with the hub.
 *
 * An event that could come in both ways is sent once. As soon as the hub has nothing more at hand, what it receives from then on is
 * left to the history, in its place; until then, what has been sent is remembered.
 *
 * @module
 */
import { type Bus, BusError, type EventMark, type GapError } from "../bus.ts";
import type { BusEvent } from "../event.ts";
import type { Details } from "./encoded_event.ts";
import { EnvelopeError } from "./envelope.ts";
import { History, type HistoryReader, type HistoryRequest } from "./history.ts";

/** What {@linkcode Subscriptions} need of their connection. */
export interface Subscriber {
  /** Sends an event of the past, whatever waits. */
  sendPast(event: BusEvent): void;
  /** Resolves when there is room for more events; `undefined` if there is. */
  room(): Promise<void> | undefined;
  /** Answers a `__subscribe`. */
  tellSubscribed(topic: unknown, ref: unknown, position: EventMark | null | undefined): void;
  /** Tells of what the client is not to blame for. */
  tellError(reason: string, topic?: unknown, ref?: unknown): void;
  /** Tells of events that are gone, of which of the filters, if that is known. */
  tellGap(gap: GapError, topic?: unknown, ref?: unknown): void;
  /** Tells of what it is to blame for. */
  refuse(reason: string, topic: unknown, ref: unknown): void;
  /** Ends the connection. */
  drop(code: number, reason: string): void;
}

/** What {@linkcode Subscriptions} need of the hub. */
export interface SubscriptionsHub<Owner> {
  /** What a connection may do. */
  readonly limits: { readonly maxSubscriptions: number };
  /** Where the past is. */
  readonly bus: Bus;
  /** Where a connection that has received nothing yet could come back to: an event; `null` for the start, if it is known. */
  readonly position: EventMark | null | undefined;
  /** Whether what a history gives is all that the hub has received. */
  isCaughtUp(history: History): boolean;
  /** A connection is to have what matches a filter. */
  route(filter: string, connection: Owner): void;
  /** A connection is no longer to have it. */
  unroute(filter: string, connection: Owner): void;
  /** A filter has been subscribed to. */
  subscribed(connection: Owner, filter: string): void;
  /** A connection has a history, which is to be ended when it has caught up. */
  hasHistory(connection: Owner): void;
  /** Resolves in the next turn of the event loop. */
  turn(): Promise<void>;
}

/** What a connection asks for, of the past and of what is to come. */
export interface SubscriptionRequest extends HistoryRequest {
  /** Whether events are to come with the buses that they have been on, and with where they are on this one. */
  readonly via: boolean;
}

/** How many events are remembered to have been sent, while one may come in more than one way. */
const MAX_REMEMBERED_IDS = 10_000;

/**
 * The subscriptions of one connection.
 *
 * @typeParam Owner the connection
 */
export class Subscriptions<Owner extends Subscriber = Subscriber> implements HistoryReader {
  readonly #owner: Owner;
  readonly #hub: SubscriptionsHub<Owner>;
  /** The filters, each with the history that it comes from, if it does. */
  readonly #filters = new Map<string, History | undefined>();
  readonly #histories = new Set<History>();
  /** What is to be had of the past, when that which was asked for before has been. */
  #asked: HistoryRequest[] = [];
  /** What has been sent, while an event may come in more than one way. */
  #sent: Set<string> | undefined;
  #details: Details = "none";
  #ended = false;

  /**
   * @param owner whose they are
   * @param hub where they are
   */
  constructor(owner: Owner, hub: SubscriptionsHub<Owner>) {
    this.#owner = owner;
    this.#hub = hub;
  }

  /** The filters. */
  get filters(): Iterable<string> {
    return this.#filters.keys();
  }

  /** How many they are. */
  get size(): number {
    return this.#filters.size;
  }

  /** What is sent of events besides what they are. */
  get details(): Details {
    return this.#details;
  }

  /**
   * Subscribes, to what is published from now on if nothing is asked for of the past.
   *
   * @throws {EnvelopeError} if there would be too many filters
   */
  add({ topic, ref, filters, from, via }: SubscriptionRequest): void {
    const news = filters.filter((filter) => !this.#filters.has(filter));
    const asked = this.#asked.reduce((sum, { filters }) => sum + filters.length, 0);
    const { maxSubscriptions } = this.#hub.limits;
    if (this.#filters.size + asked + news.length > maxSubscriptions) {
      throw new EnvelopeError(`a connection may subscribe to ${maxSubscriptions} filters, and no more`);
    }
    if (via) this.#details = "via";
    if (from !== undefined && from !== "now") {
      this.#asked.push({ topic, ref, filters, from });
      return this.#beginHistories();
    }
    for (const filter of news) {
      this.#route(filter);
      this.#hub.subscribed(this.#owner, filter);
    }
    if (from === undefined) return;
    this.#wantPositions();
    this.#owner.tellSubscribed(topic, ref, this.#hub.position);
  }

  /** Unsubscribes. */
  remove(filters: readonly string[]): void {
    for (const filter of filters) this.#remove(filter);
    this.#asked = this.#asked
      .map((asked) => ({ ...asked, filters: asked.filters.filter((filter) => !filters.includes(filter)) }))
      .filter((asked) => asked.filters.length > 0);
  }

  /** Unsubscribes from all, for good. */
  end(): void {
    this.#ended = true;
    this.#asked = [];
    for (const history of this.#histories) history.end();
    this.#histories.clear();
    for (const [filter, history] of this.#filters) {
      if (history === undefined) this.#hub.unroute(filter, this.#owner);
    }
    this.#filters.clear();
  }

  /** Whether an event that the hub has received is to be sent now: it has not been, and no history gives it in its place. */
  takesLive(event: BusEvent): boolean {
    return !(this.#histories.size > 0 && this.#isLeftToHistory(event)) && this.#isNew(event.id);
  }

  /** Whether that is so for every event, since no history gives any. */
  get takesAllLive(): boolean {
    return this.#histories.size === 0;
  }

  /**
   * The hub has given all that it has received: what it receives next, a history gives in its place, or is no longer needed for.
   *
   * @returns whether a history is still needed
   */
  hubSettled(): boolean {
    for (const history of this.#histories) {
      history.ownsLive = true;
      this.#join(history);
    }
    return this.#histories.size > 0;
  }

  #wantPositions(): void {
    if (this.#details === "none") this.#details = "position";
  }

  #isLeftToHistory(event: BusEvent): boolean {
    for (const history of this.#histories) {
      if (history.takes(event)) return true;
    }
    return false;
  }

  #route(filter: string): void {
    this.#filters.set(filter, undefined);
    this.#hub.route(filter, this.#owner);
  }

  #remove(filter: string): void {
    const history = this.#filters.get(filter);
    if (!this.#filters.delete(filter)) return;
    if (history === undefined) this.#hub.unroute(filter, this.#owner);
    else if (history.delete(filter)) this.#forget(history);
  }

  // The past.

  /** Begins what has been asked for of the past, one after another: so an event that is in two of them is sent once. */
  #beginHistories(): void {
    for (let asked; this.#canBegin() && (asked = this.#asked.shift()) !== undefined;) {
      try {
        this.#beginHistory(asked);
      } catch (error) {
        // The bus has no past to give.
        if (!(error instanceof BusError)) throw error;
        this.#owner.refuse(error.message, asked.topic, asked.ref);
      }
    }
  }

  #canBegin(): boolean {
    for (const history of this.#histories) {
      if (!history.isForever) return false;
    }
    return true;
  }

  #beginHistory(asked: HistoryRequest): void {
    const history = new History(this.#hub.bus, asked, this);
    this.#histories.add(history);
    this.#wantPositions();
    this.#sent ??= new Set();
    for (const filter of asked.filters) {
      // What has been subscribed to already begins anew, in the place that this asks for.
      this.#remove(filter);
      this.#filters.set(filter, history);
      this.#hub.subscribed(this.#owner, filter);
    }
    this.#hub.hasHistory(this.#owner);
  }

  past(event: BusEvent): void {
    if (this.#isNew(event.id)) this.#owner.sendPast(event);
  }

  room(): Promise<void> | undefined {
    return this.#owner.room();
  }

  turn(): Promise<void> {
    return this.#hub.turn();
  }

  caughtUp(history: History): void {
    // Where it is not known to have caught up with the hub, the hub's position may be ahead of what this connection has had.
    const position = history.isForever ? undefined : this.#hub.position;
    this.#owner.tellSubscribed(history.topic, history.ref, position);
    this.#beginHistories();
  }

  settled(history: History): void {
    this.#join(history);
  }

  unreadable(reason: string): void {
    this.#owner.tellError(reason);
  }

  gap(gap: GapError, { topic, ref }: History): void {
    this.#owner.tellGap(gap, topic, ref);
  }

  failed(history: History, reason: string): void {
    // Events may have been left to it.
    if (history.ownsLive) return this.#owner.drop(1013, reason);
    for (const filter of history.filters) this.#filters.delete(filter);
    this.#forget(history);
    this.#owner.tellError(reason, history.topic, history.ref);
  }

  /** Goes on without a history, if that has caught up with the hub. */
  #join(history: History): void {
    if (!this.#hub.isCaughtUp(history)) return;
    for (const filter of history.filters) this.#route(filter);
    history.end();
    this.#forget(history);
  }

  #forget(history: History): void {
    this.#histories.delete(history);
    if (this.#histories.size === 0) this.#sent = undefined;
    if (!this.#ended) this.#beginHistories();
  }

  /** Takes note that an event is sent, as long as it may come in another way, too. Returns whether it was not before. */
  #isNew(id: string): boolean {
    if (this.#sent === undefined) return true;
    if (this.#sent.has(id)) return false;
    if (!this.#comesInManyWays()) return true;
    this.#sent.add(id);
    if (this.#sent.size > MAX_REMEMBERED_IDS) {
      for (const oldest of this.#sent) {
        this.#sent.delete(oldest);
        break;
      }
    }
    return true;
  }

  /** Once a history has the place of what the hub receives, only that gives it. */
  #comesInManyWays(): boolean {
    for (const { ownsLive } of this.#histories) {
      if (!ownsLive) return true;
    }
    return false;
  }
}
