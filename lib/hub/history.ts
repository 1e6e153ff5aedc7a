/**
 * The past, for one connection that asked for it: a subscription of its own to the bus, which is read no faster than the client
 * reads, so that a slow one costs a place in the log and no memory. Once it has caught up with what the hub itself has received of
 * the bus, the connection goes on as any other, and the subscription ends.
 *
 * @module
 */
import {
  type Bus,
  BusError,
  GapError,
  type SubscribeOptions,
  type Subscription,
  UnreadableEventError,
} from "../bus.ts";
import type { BusEvent } from "../event.ts";
import { compileFilters } from "../filter.ts";
import { messageOf } from "../thrown.ts";
import { EVENTS_A_TURN } from "./turns.ts";

/** What a {@linkcode History} needs of the connection that it is for. */
export interface HistoryReader {
  /** Takes an event. */
  past(event: BusEvent): void;
  /** Resolves when there is room for more events; at once, if there is. */
  room(): Promise<void> | undefined;
  /** Resolves in the next turn of the event loop. */
  turn(): Promise<void>;
  /** All that is at hand has been given. */
  settled(history: History): void;
  /** All of the past has been given. */
  caughtUp(history: History): void;
  /** An event has been passed by, for a reason for a person. */
  unreadable(reason: string): void;
  /** Events are gone. */
  gap(gap: GapError, history: History): void;
  /** It has ended, for a reason for a person. */
  failed(history: History, reason: string): void;
}

/** What a connection has asked for at once. */
export interface HistoryRequest {
  /** What was asked for, as it was asked. */
  readonly topic: unknown;
  /** What the answer is to hold. */
  readonly ref: unknown;
  /** Which events. */
  readonly filters: readonly string[];
  /** Where to begin; `undefined` if nothing was said about it. */
  readonly from: SubscribeOptions["from"];
}

/** What a connection has asked for, as it is given. */
export class History {
  /** What was asked for, as it was asked. */
  readonly topic: unknown;
  /** What the answer is to hold. */
  readonly ref: unknown;
  readonly #subscription: Subscription;
  readonly #reader: HistoryReader;
  /** Which of the filters are still wanted. */
  readonly #filters: Set<string>;
  /** Whether a topic matches one of those. */
  #isWanted: (topic: string) => boolean;
  /** Whether a topic matches one of those that were ever wanted, so that the subscription gives it. */
  readonly #isGiven: (topic: string) => boolean;
  /** The events that the hub has received and left to this history to give, as long as they have not been given. */
  readonly #owed = new Set<string>();
  #ended = false;
  #told = false;
  /** Whether what the hub receives from now on is given by this, in its place, where it is wanted. */
  ownsLive = false;

  /**
   * Begins.
   *
   * @param bus where the events are
   * @param asked which of them
   * @param reader who gets them
   * @throws {BusError} if the bus has no past to give
   */
  constructor(bus: Bus, asked: HistoryRequest, reader: HistoryReader) {
    this.topic = asked.topic;
    this.ref = asked.ref;
    this.#filters = new Set(asked.filters);
    this.#isGiven = this.#isWanted = compileFilters(asked.filters);
    this.#reader = reader;
    this.#subscription = bus.subscribe(asked.filters, { from: asked.from });
    this.#begin();
    this.#run();
  }

  /** Whether the reader has all that there is. */
  get isCaughtUp(): boolean {
    return this.#subscription.caughtUp === true;
  }

  /** Whether it has given the past, as far as that is known, and will never be known to have caught up. */
  get isForever(): boolean {
    return this.#told && this.#subscription.caughtUp === undefined;
  }

  /** The filters that are still wanted. */
  get filters(): Iterable<string> {
    return this.#filters;
  }

  /**
   * Takes over an event that the hub has received and that is to come in its place, if it is one that this history gives.
   *
   * @returns whether it is
   */
  takes({ id, topic }: BusEvent): boolean {
    if (!this.ownsLive || !this.#isGiven(topic)) return false;
    this.#owed.add(id);
    return true;
  }

  /** Gives up a filter. Returns whether that was the last one, and the history has ended: it has nothing to give that it has taken over. */
  delete(filter: string): boolean {
    this.#filters.delete(filter);
    // Made anew when somebody asks: all of them may be given up one after another.
    this.#isWanted = (topic) => (this.#isWanted = compileFilters([...this.#filters]))(topic);
    if (this.#filters.size > 0 || this.ownsLive) return false;
    this.end();
    return true;
  }

  /** Ends it. The reader hears no more. */
  end(): void {
    this.#ended = true;
    this.#subscription.return();
  }

  async #run(): Promise<void> {
    try {
      for (let passed = 0; !this.#ended;) {
        const event = await this.#next();
        if (this.#ended) return;
        if (event !== undefined && (this.#owed.delete(event.id) || this.#isWanted(event.topic))) {
          this.#reader.past(event);
        }
        // What is not for the reader leaves it room, but others are to have their turn.
        if (++passed % EVENTS_A_TURN === 0) await this.#reader.turn();
        await this.#reader.room();
      }
    } catch (error) {
      if (this.#ended) return;
      this.#ended = true;
      this.#reader.failed(this, messageOf(error));
    }
  }

  /** The next event; `undefined` in the place of what could not be given. */
  async #next(): Promise<BusEvent | undefined> {
    const next = this.#subscription.next();
    if (this.#subscription.caughtUp) this.#settle();
    try {
      const { value, done } = await next;
      if (done && !this.#ended) throw new BusError("the bus has ended");
      return value;
    } catch (error) {
      if (error instanceof GapError) {
        if (!this.#ended) this.#reader.gap(error, this);
        return undefined;
      }
      if (!(error instanceof UnreadableEventError)) throw error;
      if (!this.#ended) this.#reader.unreadable(messageOf(error));
      return undefined;
    }
  }

  /**
   * Where the past is empty, and no event comes that would tell, it has been given now. Where the carrier cannot tell when it has
   * been given, that no later event can be missed is all that is known.
   */
  async #begin(): Promise<void> {
    try {
      await this.#subscription.ready;
      if (this.#subscription.caughtUp !== false && !this.#ended) this.#settle();
    } catch {
      // Whoever waits for the next event is told.
    }
  }

  #settle(): void {
    if (!this.#told) {
      this.#told = true;
      this.#reader.caughtUp(this);
    }
    if (!this.#ended) this.#reader.settled(this);
  }
}
