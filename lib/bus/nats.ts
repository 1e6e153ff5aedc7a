/**
 * NATS as a bus, for when a directory on one machine is not enough: hubs, 9P servers and programs on many machines, and one stream
 * of events. A topic is a subject below a prefix, so that whoever speaks NATS can take part.
 *
 * A server alone carries what is published to those who listen. With a JetStream stream it keeps it, too, and the stream is the
 * queue: a subscription is a position in it.
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
import { checkTopic } from "../event.ts";
import { filterList } from "../filter.ts";
import { identityOf } from "../identity.ts";
import { waitAtMost } from "../waiting.ts";
import { type NatsAddress, parseNatsAddress } from "./nats/address.ts";
import { Feed, type FeedReader } from "./nats/feed.ts";
import { Link } from "./nats/link.ts";
import { LiveFeed } from "./nats/live.ts";
import { marksOf, parseId } from "./nats/mark.ts";
import type { NatsOptions } from "./nats/options.ts";
import { Outbox } from "./nats/outbox.ts";
import { Stream } from "./nats/stream.ts";
import { StreamSubscription } from "./nats/stream_subscription.ts";
import { subjectOf } from "./nats/subject.ts";
import { placeOf } from "./place.ts";
import { MAX_QUEUE_BYTES, QueuedSubscription } from "./queued_subscription.ts";

/** How many feeds there may be, before those who want something else get one that has all. */
const MAX_FEEDS = 16;
/** How long what was published may still take to arrive when the bus is closed, in milliseconds. */
const CLOSE_MS = 5000;

const utf8 = new TextEncoder();

/** What there is once a bus is connected. */
interface Connected {
  readonly link: Link;
  readonly stream: Stream | undefined;
  readonly outbox: Outbox;
}

/**
 * A bus on NATS.
 *
 * What is published waits while NATS is away, and is sent again if it was not acknowledged. A stream finds out that it has an event
 * already; without one, it may be there twice. What waits for longer than two minutes, or than the stream remembers what it has, is
 * given up with an error.
 *
 * With a stream, a subscription goes on where it was when NATS is back, and a slow one costs a position and a batch or two in memory.
 * Without one, what is published while NATS is away is lost to it, of which it is told, and a slow one ends with a `SlowConsumerError`.
 *
 * @example
 * ```ts
 * import { NatsBus } from "@ollie/ollie/nats";
 *
 * async function printColors(server: string): Promise<void> {
 *   await using bus = new NatsBus(`${server}/app`, { stream: "EVENTS", createStream: true });
 *   for await (const { payload } of bus.subscribe("color", { from: "start" })) {
 *     console.log(new TextDecoder().decode(payload));
 *   }
 * }
 * ```
 */
export class NatsBus implements Bus {
  readonly #address: NatsAddress;
  readonly #options: NatsOptions;
  readonly #maxQueueBytes: number;
  readonly #subscriptions = new Set<StreamSubscription | QueuedSubscription>();
  readonly #feeds = new Set<Feed>();
  readonly #liveFeeds = new Set<LiveFeed>();
  #connecting: Promise<Connected> | undefined;
  #connected: Connected | undefined;
  /** Of what it was made, and what was. */
  #identity: { readonly name: string; readonly made: Promise<string> } | undefined;
  #closed = false;

  /**
   * Connects to nothing yet.
   *
   * @param address `nats://[USER:PASSWORD@]HOST[:PORT][,HOST…]/PREFIX`, or `tls://` for what is to be encrypted
   * @param options what the address does not say
   * @throws {BusError} if it is no such address
   */
  constructor(address: string, options: NatsOptions = {}) {
    this.#address = parseNatsAddress(address);
    this.#options = options;
    this.#maxQueueBytes = options.maxQueueBytes ?? MAX_QUEUE_BYTES;
  }

  /**
   * Publishes one event: resolves when the stream has acknowledged it, or the server has it where there is no stream.
   *
   * @throws {TopicError} if the topic breaks a rule
   * @throws {RefusedEventError} if it is longer than NATS takes
   * @throws {BusError} if NATS refuses it, cannot be reached at first, or was away for too long, or too much is waiting
   */
  publish(topic: string, payload: Uint8Array | string, options?: PublishOptions): Promise<Published> {
    const publish = ({ outbox }: Connected) => {
      const bytes = typeof payload === "string" ? utf8.encode(payload) : payload;
      return outbox.publish(subjectOf(this.#address.prefix, topic), bytes, options);
    };
    try {
      checkTopic(topic);
      return this.#connected === undefined ? this.#connect().then(publish) : publish(this.#connected);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Subscribes.
   *
   * @throws {FilterError} if one of the filters is not one
   * @throws {BusError} if `from` asks for the past and there is no stream, or for what comes after an event of another bus
   */
  subscribe(filter: string | readonly string[], options: SubscribeOptions = {}): Subscription {
    const filters = filterList(filter);
    const subscription = this.#options.stream === undefined
      ? this.#subscribeLive(filters, options)
      : this.#subscribeToStream(filters, options);
    if (options.signal?.aborted) subscription.end();
    return subscription;
  }

  /**
   * Made of the stream as it was made, or else of the name of the cluster or server, and of the prefix. A server without a name is
   * another one each time that it is started.
   *
   * @throws {BusError} if NATS cannot be reached at first
   */
  async identity(): Promise<string> {
    const { link, stream } = this.#connected ?? await this.#connect();
    const where = stream === undefined ? link.serverName : JSON.stringify([stream.name, stream.mark]);
    const name = `nats ${where} ${this.#address.prefix}`;
    if (this.#identity?.name !== name) this.#identity = { name, made: identityOf(name) };
    return await this.#identity.made;
  }

  /** Ends every subscription. What was published may still arrive, for some seconds at most. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const subscription of this.#subscriptions) subscription.end();
    const connected = await this.#connecting?.catch(() => {});
    this.#connected = undefined;
    if (connected === undefined) return;
    await waitAtMost(CLOSE_MS, connected.outbox.settled());
    connected.outbox.close();
    await connected.link.close();
  }

  #subscribeLive(filters: readonly string[], { from = "now", signal }: SubscribeOptions): QueuedSubscription {
    if (from !== "now") {
      throw new BusError(
        `${this.#address.shown} keeps no events without a stream, so it has none to replay: name a JetStream stream, with ` +
          "--stream, or subscribe from now",
      );
    }
    let feed: LiveFeed | undefined;
    const subscription = new QueuedSubscription(this.#maxQueueBytes, signal, () => {
      this.#subscriptions.delete(subscription);
      feed?.leave(subscription, filters);
    });
    this.#begin(subscription, async ({ link }) => {
      feed = this.#feedFor(this.#liveFeeds, filters, (wanted) => {
        const made: LiveFeed = new LiveFeed(link, this.#address.prefix, wanted, () => this.#liveFeeds.delete(made));
        return made;
      });
      feed.audience.add(subscription, filters);
      await feed.started;
      subscription.begin();
    });
    return subscription;
  }

  #subscribeToStream(filters: readonly string[], options: SubscribeOptions): StreamSubscription {
    for (const { id } of marksOf(placeOf(options.from ?? "now"))) parseId(id);
    const subscription = new StreamSubscription(filters, options.signal, () => {
      this.#subscriptions.delete(subscription);
    });
    this.#begin(subscription, async ({ stream, outbox }) => {
      // It was asked for, so there is one.
      if (stream === undefined) return;
      const join = (reader: FeedReader) => {
        const feed = this.#feedFor(this.#feeds, filters, (wanted) => {
          const made: Feed = new Feed(stream, wanted, () => this.#feeds.delete(made));
          return made;
        });
        feed.audience.add(reader, filters);
        return feed;
      };
      await subscription.begin({ stream, join, published: outbox.last }, options);
    });
    return subscription;
  }

  /** Begins a subscription as soon as there is a connection, if it has not ended by then. */
  async #begin(
    subscription: StreamSubscription | QueuedSubscription,
    begin: (connected: Connected) => Promise<void>,
  ): Promise<void> {
    this.#subscriptions.add(subscription);
    try {
      const connected = this.#connected ?? await this.#connect();
      if (this.#subscriptions.has(subscription)) await begin(connected);
    } catch (error) {
      subscription.fail(error);
    }
  }

  /** A feed that has what matches the filters: one that there is, or another. */
  #feedFor<AnyFeed extends Feed | LiveFeed>(
    feeds: Set<AnyFeed>,
    filters: readonly string[],
    make: (filters: readonly string[]) => AnyFeed,
  ): AnyFeed {
    for (const feed of feeds) {
      if (feed.audience.covers(filters)) return feed;
    }
    const everything = filters.includes("*") || feeds.size >= MAX_FEEDS;
    const feed = make(everything ? [">"] : filters);
    feeds.add(feed);
    return feed;
  }

  #connect(): Promise<Connected> {
    if (this.#closed) return Promise.reject(new BusError(`the bus at ${this.#address.shown} was closed`));
    this.#connecting ??= this.#open().catch((error) => {
      // The next one who wants something tries again.
      this.#connecting = undefined;
      throw error;
    });
    return this.#connecting;
  }

  async #open(): Promise<Connected> {
    const { credentials, stream: name, createStream = false } = this.#options;
    const link = await Link.open(this.#address, credentials);
    try {
      const stream = name === undefined
        ? undefined
        : await Stream.open(link, this.#address.prefix, { name, create: createStream });
      const connected = { link, stream, outbox: new Outbox(link, stream, this.#maxQueueBytes) };
      link.add({ down() {}, up() {}, lost: () => this.#connected = this.#connecting = undefined });
      this.#connected = connected;
      return connected;
    } catch (error) {
      await link.close();
      throw error;
    }
  }
}
