/**
 * A hub as a bus. Each subscription has a connection of its own, so that its order, its place and its pace are its own, too;
 * one more is there for what is published.
 *
 * @module
 */
import {
  type Bus,
  BusError,
  type EventMark,
  GapError,
  type Position,
  type Published,
  type PublishOptions,
  SlowConsumerError,
  type SubscribeOptions,
  type Subscription,
  UnreadableEventError,
} from "../bus.ts";
import { type BusEvent, checkTopic, RESERVED_PREFIX } from "../event.ts";
import { filterList } from "../filter.ts";
import { parseJson } from "../format.ts";
import { HubClient } from "../hub/client.ts";
import { type HubAddress, parseHubAddress } from "../hub/client/address.ts";
import type { Ending } from "../hub/client/connection.ts";
import { isForbidden, reasonOfRefusal } from "../hub/client/refusal.ts";
import type { Received } from "../hub/client/received.ts";
import { EnvelopeError, envelopeOf, payloadOf, withVia } from "../hub/envelope.ts";
import { Queue } from "../queue.ts";
import { BEFORE_ALL, placeOf } from "./place.ts";
import { EVENT_BYTES, PulledSubscription } from "./subscription.ts";

/** How many bytes of events may wait for a subscriber, before its connection is given up until they have been read. */
const MAX_AHEAD_BYTES = 4 * 1024 * 1024;
/** How many bytes of published events may wait for the hub: their publishers wait for the answers. */
const MAX_QUEUE_BYTES = 16 * 1024 * 1024;

const utf8 = new TextEncoder();

/** How a {@linkcode HubBus} may differ from the usual. */
export interface HubBusOptions {
  /** The token to show to the hub, if it does not stand in the address. */
  readonly token?: string;
  /** How many bytes of published events may wait for the hub to acknowledge them. 16 MiB if not given. */
  readonly maxQueueBytes?: number;
}

/**
 * A bus at a hub, such as `ollie hub` serves.
 *
 * What is published waits while the hub is away, and is sent again if it was not acknowledged: where a connection ends at the
 * wrong moment, an event may be on the bus twice, but it is never lost.
 *
 * A subscription outlives its connection: it connects again and goes on where it was, without a word. On a hub whose bus keeps
 * nothing (`mem:`) it cannot, and fails with a {@linkcode BusError} that says so. A slow subscriber loses nothing, and has some
 * MiB in memory at most.
 *
 * @example
 * ```ts
 * import { Hub, HubBus, MemoryBus } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * // What `ollie hub` does, in short.
 * await using memory = new MemoryBus();
 * const hub = new Hub(memory);
 * const server = Deno.serve({ port: 0, onListen() {} }, (request) => {
 *   const { socket, response } = Deno.upgradeWebSocket(request, { protocol: "ollie.batch.v1" });
 *   socket.onopen = () => hub.addConnection(socket);
 *   return response;
 * });
 *
 * const bus = new HubBus(`ws://localhost:${server.addr.port}`);
 * const colors = bus.subscribe("color");
 * await colors.ready;
 * await bus.publish("color", "red");
 * const { value } = await colors.next();
 * assert.equal(new TextDecoder().decode(value?.payload), "red");
 *
 * await bus[Symbol.asyncDispose]();
 * await hub.close();
 * await server.shutdown();
 * ```
 */
export class HubBus implements Bus {
  readonly #address: HubAddress;
  readonly #maxQueueBytes: number;
  readonly #subscriptions = new Set<HubSubscription>();
  #publisher: HubClient | undefined;
  #closed = false;

  /**
   * Connects to nothing yet.
   *
   * @param address `ws://HOST:PORT/` or `wss://HOST/`; a token may stand before the host, as in `ws://:TOKEN@HOST/`
   * @param options how it differs from the usual
   * @throws {BusError} if it is no such address, or the token cannot be sent
   */
  constructor(address: string | URL, options: HubBusOptions = {}) {
    this.#address = parseHubAddress(address, options.token);
    this.#maxQueueBytes = options.maxQueueBytes ?? MAX_QUEUE_BYTES;
  }

  /**
   * Publishes one event: resolves when the hub has acknowledged it, however long the hub is away.
   *
   * @throws {TopicError} if the topic breaks a rule
   * @throws {RefusedEventError} if the hub does not take it, and would not if it were published again
   * @throws {BusError} if the hub's bus fails, or there has never been a connection and it cannot be made, or too much is waiting
   */
  async publish(topic: string, payload: Uint8Array | string, { via }: PublishOptions = {}): Promise<Published> {
    checkTopic(topic);
    const bytes = typeof payload === "string" ? utf8.encode(payload) : payload;
    const envelope = envelopeOf({ topic, payload: bytes });
    return await this.#connectedPublisher().publish(topic, via === undefined ? envelope : withVia(envelope, via));
  }

  /**
   * That of the hub's bus.
   *
   * @throws {BusError} if the hub cannot tell, or there has never been a connection and it cannot be made
   */
  async identity(): Promise<string> {
    return await this.#connectedPublisher().identity();
  }

  /**
   * Subscribes.
   *
   * @throws {FilterError} if one of the filters is not one
   * @throws {BusError} if `window` asks which events there were before now, which a hub does not tell
   */
  subscribe(filter: string | readonly string[], options: SubscribeOptions = {}): Subscription {
    const filters = filterList(filter);
    const { from = "now", window = 0 } = options;
    if (from === "now" && window > 0) {
      throw new BusError(
        `${this.#address.url} does not tell which events there were just before now: begin with the past, or after one of ` +
          `them, or ask for a window of 0`,
      );
    }
    const subscription = new HubSubscription(this.#address, filters, options, () => {
      this.#subscriptions.delete(subscription);
    });
    this.#subscriptions.add(subscription);
    if (this.#closed) subscription.fail(this.#closedError());
    if (options.signal?.aborted) subscription.end();
    return subscription;
  }

  /** Ends every subscription. What was published is still sent, for some seconds at most. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await Promise.all(Array.from(this.#subscriptions, (subscription) => subscription.return()));
    await this.#publisher?.close();
  }

  #closedError(): BusError {
    return new BusError(`the bus at ${this.#address.url} was closed`);
  }

  /** The connection for what is published, which is made when it is first needed. */
  #connectedPublisher(): HubClient {
    if (this.#closed) throw this.#closedError();
    return this.#publisher ??= this.#connectPublisher();
  }

  #connectPublisher(): HubClient {
    let isKnown = false;
    const client: HubClient = new HubClient(this.#address, {
      event() {},
      opened: () => isKnown = true,
      ended: async (ending) => {
        if (isKnown && !isForbidden(ending)) return;
        const error = await connectError(this.#address, client, ending);
        if (this.#publisher === client) this.#publisher = undefined;
        client.fail(error);
      },
    }, { maxQueueBytes: this.#maxQueueBytes });
    return client;
  }
}

/** What to tell about a connection that could not be made. Meanwhile, no other attempt is. */
async function connectError(address: HubAddress, client: HubClient, ending: Ending): Promise<BusError> {
  client.pause();
  return new BusError(`cannot connect to ${address.url}: ${await reasonOfRefusal(address, ending)}`);
}

class HubSubscription extends PulledSubscription {
  readonly #address: HubAddress;
  readonly #client: HubClient;
  readonly #release: () => void;
  /** What has come and has not been taken; what the hub could not give has its place among the others. */
  readonly #ahead = new Queue<BusEvent | UnreadableEventError | GapError>();
  #aheadBytes = 0;
  #hasBegun = false;
  /** Its connection has been given up until what has come is read, and nothing has come since. */
  #isPaused = false;
  /** Where it begins, if that is known before the hub says so. */
  readonly #position: Position | undefined;
  readonly #wantsPosition: boolean;

  constructor(
    address: HubAddress,
    filters: readonly string[],
    { from = "now", window, signal }: SubscribeOptions,
    release: () => void,
  ) {
    super(signal);
    this.#address = address;
    this.#release = release;
    this.#position = from === "start" ? BEFORE_ALL : placeOf(from);
    this.#wantsPosition = from === "now" && window !== undefined;
    this.#client = new HubClient(address, {
      event: (topic, received) => this.#receive(topic, received),
      opened: () => filters.length === 0 && this.#began(this.#position),
      began: (place) => this.#began(this.#wantsPosition ? positionAt(place) : this.#position),
      ended: (ending) => this.#disconnected(ending),
      refused: (_filters, reason) => this.fail(new BusError(`${address.url}: ${reason}`)),
      missed: (reason) => this.#missed(reason),
      gap: (gap) => this.#put(new GapError(address.url, gap), 0),
      error: (reason) => this.#put(new UnreadableEventError(`${address.url}: ${reason}`), 0),
    }, { from, via: true, parse: parseExactly });
    for (const filter of filters) this.#client.add(filter);
  }

  /** What the hub has yet to send is not known here. */
  override get caughtUp(): undefined {
    return undefined;
  }

  #began(position: Position | undefined): void {
    this.#hasBegun = true;
    this.begun(position);
  }

  #receive(topic: string, received: Received): void {
    const { at, time, via } = received;
    if (at === undefined || time === undefined) {
      return this.fail(new BusError(`${this.#address.url} sent an event without "at" and "time": it is no hub`));
    }
    let payload;
    try {
      payload = payloadOf(received);
    } catch (error) {
      if (!(error instanceof EnvelopeError)) throw error;
      return this.fail(new BusError(`${this.#address.url}: ${error.message}: it is no hub`, { cause: error }));
    }
    if (typeof payload === "string") payload = utf8.encode(payload);
    this.#isPaused = false;
    // Nothing can be missed from here on, even if the past is long and nobody reads it.
    if (!this.#hasBegun && !this.#wantsPosition) this.#began(this.#position);
    this.#put({ id: at, time, topic, payload, ...via === undefined ? {} : { via } }, payload.length);
  }

  #put(arrived: BusEvent | UnreadableEventError | GapError, bytes: number): void {
    this.#aheadBytes += bytes + EVENT_BYTES;
    this.#ahead.push(arrived);
    this.wake();
    if (this.#aheadBytes <= MAX_AHEAD_BYTES) return;
    // There is no other way to make a WebSocket wait.
    this.#isPaused = true;
    this.#client.pause();
  }

  protected take(): BusEvent | undefined {
    const next = this.#ahead.shift();
    if (next === undefined) return undefined;
    this.#aheadBytes -= (next instanceof Error ? 0 : next.payload.length) + EVENT_BYTES;
    if (this.#isPaused && this.#ahead.size === 0) this.#client.resume();
    if (next instanceof Error) throw next;
    return next;
  }

  async #disconnected(ending: Ending): Promise<void> {
    if (this.#hasBegun && !isForbidden(ending)) return;
    this.fail(await connectError(this.#address, this.#client, ending));
  }

  #missed(reason: string): void {
    this.fail(
      this.#isPaused
        ? new SlowConsumerError(
          `this subscriber read too slowly: more than ${MAX_AHEAD_BYTES} bytes waited for it, and ${this.#address.url} ` +
            `cannot go on after the last of them (${reason})`,
        )
        : new BusError(
          `the connection to ${this.#address.url} ended, and events may have been missed, since it cannot go on where it ` +
            `was (${reason})`,
        ),
    );
  }

  /** Ends it with an error, and the connection at once: what could still come would come after a gap. */
  override fail(error: unknown): void {
    this.#client.close();
    super.fail(error);
  }

  /** Ends it. Resolves when its connection has ended, too. */
  override async return(): Promise<IteratorResult<BusEvent, undefined>> {
    const result = await super.return();
    await this.#client.close();
    return result;
  }

  protected release(): void {
    this.#client.close();
    this.#ahead.clear();
    this.#release();
  }
}

/** The place that a hub told of. */
function positionAt(place: EventMark | null | undefined): Position | undefined {
  return place === undefined ? undefined : { after: place ?? undefined, seen: [] };
}

/**
 * Parses an envelope so that its payload can be written to the byte. That takes several times as long as `JSON.parse`, so it is
 * done only where the payload may hold a number that matters.
 */
function parseExactly(text: string): unknown {
  const said: unknown = JSON.parse(text);
  if (typeof said !== "object" || said === null || "payload_base64" in said || !("payload" in said)) return said;
  const isPlain = typeof said.payload === "string" || said.payload === null;
  const isAnswer = "type" in said && String(said.type).startsWith(RESERVED_PREFIX);
  return isPlain || isAnswer ? said : parseJson(text);
}
