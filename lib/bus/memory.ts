/**
 * The bus `mem:`, which lives and ends with its process. It keeps nothing, so a subscriber gets a queue of its own, and one
 * that lets it overflow is told so: nothing is lost in silence.
 *
 * @module
 */
import {
  type Bus,
  BusError,
  type Published,
  type PublishOptions,
  type SubscribeOptions,
  type Subscription,
} from "../bus.ts";
import { type BusEvent, checkTopic } from "../event.ts";
import { filterList, FilterTree } from "../filter.ts";
import { newIdentity } from "../identity.ts";
import { type Clock, formatTime, increasing, systemClock } from "../time.ts";
import { MAX_QUEUE_BYTES, QueuedSubscription } from "./queued_subscription.ts";

/** How a {@linkcode MemoryBus} may differ from the usual. */
export interface MemoryBusOptions {
  /** How many bytes may wait for one subscriber, each event counted as its payload and 256 bytes. 16 MiB if not given. */
  readonly maxQueueBytes?: number;
  /** Tells the time. The system's clock if not given. */
  readonly clock?: Clock;
}

/**
 * A bus within one process.
 *
 * @example
 * ```ts
 * import { MemoryBus } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * await using bus = new MemoryBus();
 * await using colors = bus.subscribe("color");
 * await bus.publish("color", "red");
 * const { value } = await colors.next();
 * assert.equal(new TextDecoder().decode(value?.payload), "red");
 * ```
 */
export class MemoryBus implements Bus {
  readonly #matching = new FilterTree<QueuedSubscription>();
  readonly #open = new Set<QueuedSubscription>();
  readonly #maxQueueBytes: number;
  readonly #clock: Clock;
  readonly #identity = newIdentity();
  #published = 0;

  /**
   * Makes a bus of its own.
   *
   * @param options how it differs from the usual
   */
  constructor(options: MemoryBusOptions = {}) {
    this.#maxQueueBytes = options.maxQueueBytes ?? MAX_QUEUE_BYTES;
    this.#clock = increasing(options.clock ?? systemClock);
  }

  /**
   * Hands an event to those who are subscribed to its topic. They share one copy of the payload.
   *
   * @throws {TopicError} if the topic breaks a rule
   */
  // deno-lint-ignore require-await -- so that a refusal is a rejection, as on every bus
  async publish(topic: string, payload: Uint8Array | string, { via }: PublishOptions = {}): Promise<Published> {
    checkTopic(topic);
    const event: BusEvent = {
      id: String(++this.#published),
      time: formatTime(this.#clock()),
      topic,
      payload: typeof payload === "string" ? new TextEncoder().encode(payload) : new Uint8Array(payload),
      ...via === undefined ? {} : { via },
    };
    for (const subscription of this.#matching.match(topic)) subscription.deliver(event);
    return { id: event.id, time: event.time };
  }

  /**
   * Subscribes to what is published from now on. A subscriber for whom more waits than the bus allows gets a
   * `SlowConsumerError` after the last event that found room.
   *
   * @throws {FilterError} if one of the filters is not one
   * @throws {BusError} if `from` asks for events of the past, which this bus does not keep
   */
  subscribe(filter: string | readonly string[], options: SubscribeOptions = {}): Subscription {
    const filters = filterList(filter);
    if (options.from !== undefined && options.from !== "now") {
      throw new BusError(
        "a mem: bus keeps no events, so it has none to replay: subscribe from now, or use a directory",
      );
    }
    const subscription = new QueuedSubscription(this.#maxQueueBytes, options.signal, () => {
      for (const filter of filters) this.#matching.delete(filter, subscription);
      this.#open.delete(subscription);
    });
    for (const filter of filters) this.#matching.add(filter, subscription);
    this.#open.add(subscription);
    subscription.begin();
    if (options.signal?.aborted) subscription.end();
    return subscription;
  }

  /** An identity of its own. */
  identity(): Promise<string> {
    return Promise.resolve(this.#identity);
  }

  /** Ends every subscription. */
  [Symbol.asyncDispose](): Promise<void> {
    for (const subscription of this.#open) subscription.end();
    return Promise.resolve();
  }
}
