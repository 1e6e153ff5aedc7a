/**
 * What a client is subscribed to: filters that come and go, whatever becomes of the connection.
 *
 * What changes in one turn of the event loop is asked for together, and one `__subscribe` is under way at a time. After a
 * connection has ended, what was in force is asked for again in one list, from where it was: no event is missed, and none comes
 * twice. Where the hub cannot do that, all begins anew, and whoever uses the client is told.
 *
 * @module
 */
import { BusError, type EventMark, type SubscribeOptions } from "../../bus.ts";
import { isAfter, placeOf } from "../../bus/place.ts";
import { compileFilter } from "../../filter.ts";
import type { Answer } from "./received.ts";
import { type Beginning, Trail } from "./trail.ts";

/** What {@linkcode Subscriptions} need of their client. */
export interface SubscriptionsClient {
  /** What the hub is called in errors. */
  readonly hub: string;
  /** Whether there is a connection now. */
  readonly isOpen: boolean;
  /** Sends a control envelope. */
  tell(type: string, payload: unknown, ref?: string): void;
  /** All that can be asked for has been: what was published since may be sent. */
  settled(): void;
  /** The filters that were asked for first are in force, from this place on, if the hub tells. */
  began(place: EventMark | null | undefined): void;
  /** Some filters were refused, for a reason for a person. They are asked for again on the next connection. */
  refused(filters: readonly string[], reason: string): void;
  /** It could not go on where it was: events may have been missed. */
  missed(reason: string): void;
}

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

/** What is asked for by whoever begins at the start and has had nothing yet. */
const ALL: Beginning = { replay: "all" };

/** The filters of one client. */
export class Subscriptions {
  readonly #client: SubscriptionsClient;
  readonly #from: NonNullable<SubscribeOptions["from"]>;
  readonly #via: boolean;
  readonly #trail = new Trail();
  readonly #wanted = new Map<string, Wanted>();
  /** The filters that this connection has in force. */
  readonly #held = new Set<string>();
  /** The filters that this connection was refused, and why. */
  readonly #refused = new Map<string, string>();
  #waiters: Waiter[] = [];
  #ask: Ask | undefined;
  #asked = 0;
  #syncIsDue = false;
  /** Some filters are wanted that have yet to be asked for, when what is under way has been answered. */
  #hasMoreToAsk = false;

  /**
   * @param client whose they are
   * @param from where to begin
   * @param via whether events are to come with the buses that they have been on
   */
  constructor(client: SubscriptionsClient, from: SubscribeOptions["from"] = "now", via = false) {
    this.#client = client;
    this.#from = from;
    this.#via = via;
    const place = placeOf(from);
    if (place === undefined) return;
    this.#trail.begin(place.after ?? null);
    for (const mark of place.seen) this.#trail.note(mark, 0);
    if (place.gone !== undefined) this.#trail.noteGap(place.gone);
  }

  /** Whether all that is wanted has been asked for, so that what is published from now on comes back to who wants it. */
  get isAsked(): boolean {
    return !this.#syncIsDue && !this.#hasMoreToAsk;
  }

  // What is wanted.

  /** Subscribes. What is wanted already stays as it is. */
  add(filter: string): void {
    if (this.#wanted.has(filter)) return;
    this.#wanted.set(filter, { had: false, since: undefined });
    this.#syncSoon();
  }

  /** Unsubscribes. */
  remove(filter: string): void {
    this.#refused.delete(filter);
    if (this.#wanted.delete(filter)) this.#syncSoon();
  }

  /** Unsubscribes from all. */
  clear(): void {
    this.#wanted.clear();
    this.sync();
  }

  /**
   * Waits until all filters that are wanted now are in force, and so that there is a connection.
   *
   * @throws {BusError} if one of them is refused, or {@linkcode fail} is called before
   */
  settled(): Promise<void> {
    for (const [filter, reason] of this.#refused) {
      if (this.#wanted.has(filter)) return Promise.reject(this.#refusal(reason));
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ filters: [...this.#wanted.keys()], resolve, reject });
      this.#syncSoon();
    });
  }

  /** Tells those who wait that it will not be. */
  fail(error: BusError): void {
    for (const { reject } of this.#waiters.splice(0)) reject(error);
  }

  /** The connection has ended. */
  disconnected(): void {
    for (const filter of this.#held) {
      const wanted = this.#wanted.get(filter);
      if (wanted !== undefined) wanted.had = true;
    }
    this.#held.clear();
    this.#refused.clear();
    this.#ask = undefined;
  }

  #syncSoon(): void {
    if (this.#syncIsDue) return;
    this.#syncIsDue = true;
    queueMicrotask(() => {
      this.#syncIsDue = false;
      this.sync();
    });
  }

  /** Makes what the hub knows agree with what is wanted. Called when there is a connection, and whenever something has changed. */
  sync(): void {
    if (!this.#client.isOpen) return;
    const dropped = [...this.#held].filter((filter) => !this.#wanted.has(filter));
    if (dropped.length > 0) {
      this.#client.tell("__unsubscribe", { topic: dropped });
      for (const filter of dropped) this.#held.delete(filter);
    }
    const missing = [...this.#wanted].filter(([filter]) => !this.#held.has(filter) && !this.#refused.has(filter));
    if (this.#ask === undefined && missing.length > 0) this.#askFor(missing);
    this.#hasMoreToAsk = missing.some(([filter]) => !this.#ask?.filters.includes(filter));
    this.#tellWaiters();
    this.#client.settled();
  }

  // Asking for it.

  #askFor(missing: readonly (readonly [filter: string, Wanted])[]): void {
    const had = missing.filter(([, { had }]) => had).map(([filter]) => filter);
    if (had.length === 0) {
      return this.#subscribe({ filters: missing.map(([filter]) => filter), kind: "first" }, this.#beginning());
    }
    // All of them share one place to come back to.
    const place = this.#trail.resume() ?? (this.#from === "start" ? ALL : undefined);
    if (place === undefined) this.#askAnew(had, "its hub did not tell where it was");
    else this.#subscribe({ filters: had, kind: "again" }, place);
  }

  #beginning(): Beginning {
    if (this.#from === "now") return { replay: 0 };
    const last = typeof this.#from === "object" && "last" in this.#from ? this.#from.last : 0;
    // Some of the past may have come already, before an earlier connection ended.
    return this.#trail.resume() ?? (this.#from === "start" ? ALL : { replay: last });
  }

  /** Subscribes from now on, because where it was is not to be had. */
  #askAnew(filters: readonly string[], reason: string): void {
    this.#trail.clear();
    this.#subscribe({ filters, kind: "anew", reason }, { replay: 0 });
  }

  #subscribe(ask: Pick<Ask, "filters" | "kind"> & { readonly reason?: string }, beginning: Beginning): void {
    const ref = `subscribe ${++this.#asked}`;
    this.#ask = { reason: "", ...ask, ref, isFromNow: "replay" in beginning && beginning.replay === 0 };
    this.#client.tell("__subscribe", { topic: ask.filters, ...beginning, ...this.#via ? { via: true } : {} }, ref);
  }

  /** The hub has said `__subscribed`. */
  accepted({ place }: Answer): void {
    const ask = this.#ask;
    if (ask === undefined) return;
    this.#ask = undefined;
    // If nothing has been received yet: else that is the place.
    if (place !== undefined) this.#trail.begin(place);
    for (const filter of ask.filters) {
      this.#held.add(filter);
      const wanted = this.#wanted.get(filter);
      // Where the past was asked for, what comes may lie before that place.
      if (wanted !== undefined && ask.isFromNow) wanted.since = place?.time ? place : undefined;
    }
    if (ask.kind === "anew") this.#client.missed(ask.reason);
    if (ask.kind === "first") this.#client.began(place);
    this.sync();
  }

  /**
   * The hub has said `__error`.
   *
   * @returns whether that was the answer to a `__subscribe`
   */
  rejected(answer: Answer): boolean {
    const ask = this.#ask;
    if (ask === undefined || !isAbout(ask, answer)) return false;
    this.#ask = undefined;
    const [culprit] = ask.filters.length > 1 ? ask.filters.filter((filter) => filter === answer.topic) : [];
    if (culprit !== undefined) {
      this.#refuse([culprit], answer.reason);
    } else if (ask.kind === "again") {
      this.#askAnew(ask.filters, answer.reason);
      return true;
    } else {
      this.#refuse(ask.filters, answer.reason);
    }
    this.sync();
    return true;
  }

  /** Whether an `__error` is about something that is in force. */
  concerns({ topic }: Answer): boolean {
    const topics: readonly unknown[] = Array.isArray(topic) ? topic : [topic];
    return topics.some((topic) => typeof topic === "string" && this.#held.has(topic));
  }

  #refuse(filters: readonly string[], reason: string): void {
    for (const filter of filters) this.#refused.set(filter, reason);
    const waiting = this.#waiters;
    const isConcerned = (waiter: Waiter) => waiter.filters.some((filter) => filters.includes(filter));
    this.#waiters = waiting.filter((waiter) => !isConcerned(waiter));
    for (const { reject } of waiting.filter(isConcerned)) reject(this.#refusal(reason));
    this.#client.refused(filters, reason);
  }

  #refusal(reason: string): BusError {
    return new BusError(`${this.#client.hub}: ${reason}`);
  }

  #tellWaiters(): void {
    if (this.#waiters.length === 0) return;
    const isInForce = (filter: string) => this.#held.has(filter) || !this.#wanted.has(filter);
    const waiting = this.#waiters;
    this.#waiters = waiting.filter(({ filters }) => !filters.every(isInForce));
    for (const { filters, resolve } of waiting) if (filters.every(isInForce)) resolve();
  }

  // What comes.

  /**
   * Takes note of an event.
   *
   * @param topic its topic
   * @param mark where it is on the bus
   * @param bytes how long it is
   * @returns whether it is wanted: it has not been had before, and does not lie before what asked for it
   */
  isNew(topic: string, mark: EventMark, bytes: number): boolean {
    if (this.#from === "start") this.#trail.begin(null);
    if (!this.#trail.note(mark, bytes)) return false;
    return this.#ask?.kind !== "again" || !this.#isTooOld(topic, mark);
  }

  /** Takes note of events that are gone. Returns whether that is news. */
  isNewGap(until: EventMark): boolean {
    return this.#trail.noteGap(until);
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
