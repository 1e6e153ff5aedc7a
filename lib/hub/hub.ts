/**
 * The hub: events of a bus, fanned out to the connections that subscribed to their topics, and what those publish put onto the bus.
 *
 * It knows no server: {@linkcode Hub.addConnection} takes a socket that somebody has accepted, and it runs wherever there are
 * sockets, in Deno, Node, Bun and browsers. It receives each event of the bus once, makes a frame of it once, and hands that to
 * those who want it.
 *
 * @module
 */
import {
  type Bus,
  type EventMark,
  GapError,
  type Published,
  type PublishOptions,
  type Subscription,
  UnreadableEventError,
} from "../bus.ts";
import type { BusEvent } from "../event.ts";
import { EVENT_BYTES } from "../bus/subscription.ts";
import { messageOf, stackOf } from "../thrown.ts";
import type { Access } from "./access.ts";
import { Connection, type ConnectionHub, type ConnectionLimits, type HubConnection } from "./connection.ts";
import { EncodedEvent } from "./encoded_event.ts";
import { Flusher } from "./flusher.ts";
import type { History } from "./history.ts";
import { Allowance, Batches, bytesOf, type Frame, HANDED_BYTES } from "./outbox.ts";
import { BATCH_PROTOCOL } from "./protocol.ts";
import { Routes } from "./routes.ts";
import { Run } from "./run.ts";
import type { HubSocket } from "./socket.ts";
import { Turns } from "./turns.ts";

/** How a {@linkcode Hub} may differ from the usual, and who wants to know what happens at it. */
export interface HubOptions {
  /** How many bytes may wait for a connection before it is ended with code 1013. 1 MiB if not given. */
  readonly maxBuffer?: number;
  /** How long a message to the hub may be, in bytes. 1 MiB if not given. */
  readonly maxMessage?: number;
  /** How many filters a connection may subscribe to. 10,000 if not given. */
  readonly maxSubscriptions?: number;
  /** How long a socket may take nothing of what waits for it, in milliseconds, before it is taken for dead. A minute if not given. */
  readonly stallTimeout?: number;
  /** Is called when a connection has been added. */
  readonly onConnect?: (connection: HubConnection) => void;
  /** Is called when one has ended, however that came. */
  readonly onDisconnect?: (connection: HubConnection) => void;
  /** Is called when one has subscribed. */
  readonly onSubscribe?: (connection: HubConnection, filter: string) => void;
  /** Is called when one is ended because it reads too slowly, with how many bytes waited for it. */
  readonly onBackpressure?: (connection: HubConnection, queuedBytes: number) => void;
  /** Takes what whoever runs the hub should know, as sentences. Nothing is done with them if not given. */
  readonly log?: (message: string) => void;
}

/** How a connection may differ from the usual. */
export interface AddConnectionOptions {
  /** What it may do; everything if not given. */
  readonly access?: Access;
  /** Whether it takes several envelopes in a frame; if not given, whether its subprotocol says so. */
  readonly batch?: boolean;
}

/** What a hub has counted, since it began unless it says otherwise. */
export interface HubStats {
  /** How many connections there are now. */
  readonly connections: number;
  /** How many filters they are subscribed to now. */
  readonly subscriptions: number;
  /** How many events they have published. */
  readonly published: number;
  /** How many bytes they have sent. */
  readonly receivedBytes: number;
  /** How many events they have been sent, each one for each of them. */
  readonly delivered: number;
  /** How many bytes that was. */
  readonly deliveredBytes: number;
  /** How many of them were ended because they read too slowly. */
  readonly slowConsumers: number;
  /** How many errors they have been told of. */
  readonly errors: number;
  /** How many bytes wait for them now. */
  readonly queuedBytes: number;
  /** How many of those wait for the one for which most do. */
  readonly maxQueuedBytes: number;
}

/** How many bytes of events are taken from the bus before the sockets get a turn to send: as many as each of them takes. */
const TURN_BYTES = HANDED_BYTES;

/**
 * What those who are behind must take in a millisecond, all together, so as not to be ended however many events come at once; and how
 * long the hub waits for them in a turn, in milliseconds, so that they hold nobody up for long.
 */
const SLOWEST_BYTES_PER_MS = 16 * 1024;
const MAX_TURN_MS = 100;

/** How many bytes may be published through the hub that it has yet to receive, each event counted as its payload and some more. */
const MAX_AHEAD_BYTES = 4 * 1024 * 1024;

/** What an event counts for that nobody wants: it costs little, but not nothing. */
const UNWANTED_BYTES = 64;

/** How long to wait before the bus is subscribed to again after it has failed, in milliseconds, at first and at most. */
const RETRY_MS = 100;
const MAX_RETRY_MS = 5000;

/**
 * A hub on a bus.
 *
 * @example
 * ```ts
 * import { Hub, MemoryBus } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * await using bus = new MemoryBus();
 * const hub = new Hub(bus);
 * await hub.ready;
 *
 * const { port1, port2 } = new MessageChannel();
 * hub.addConnection(port1);
 * const frame = new Promise<string>((resolve) => port2.onmessage = ({ data }) => resolve(data));
 * port2.postMessage('{"type":"__subscribe","payload":{"topic":"color"}}');
 * port2.postMessage('{"type":"color","payload":"red"}');
 * assert.equal(await frame, '{"type":"color","id":"","payload":"red"}');
 *
 * await hub.close();
 * port2.close();
 * ```
 */
export class Hub {
  /** Resolves once no event that is published from then on can be missed. Rejects if the bus cannot be subscribed to. */
  readonly ready: Promise<void>;
  readonly #bus: Bus;
  readonly #options: HubOptions;
  readonly #host: ConnectionHub;
  readonly #connections = new Map<HubSocket, Connection>();
  readonly #routes = new Routes<Connection>();
  readonly #turns = new Turns();
  readonly #flusher: Flusher;
  readonly #batches = new Batches();
  readonly #allowance = new Allowance();
  readonly #withHistories = new Set<Connection>();
  #isReady = false;
  /** Whether the bus has failed, and the hub has yet to subscribe to it again. */
  #isAway = false;
  #subscription: Subscription | undefined;
  #position: EventMark | null | undefined;
  #encoded: EncodedEvent | undefined;
  /** What has come in a row for the same connections, and has yet to be given to them. */
  #run: Run<Connection> | undefined;
  /** How many bytes have been published through the hub since it last had received all that there is; and when it has again. */
  #aheadBytes = 0;
  #caughtUp = Promise.withResolvers<void>();
  #closed = false;
  #lastId = 0;
  #published = 0;
  #receivedBytes = 0;
  #delivered = 0;
  #deliveredBytes = 0;
  #slowConsumers = 0;
  #errors = 0;

  /**
   * Makes a hub, which subscribes to the bus at once.
   *
   * @param bus where events come from and go to; it stays the caller's
   * @param options how it differs from the usual
   */
  constructor(bus: Bus, options: HubOptions = {}) {
    this.#bus = bus;
    this.#options = options;
    const { maxBuffer = 1024 * 1024, maxMessage = 1024 * 1024, maxSubscriptions = 10_000 } = options;
    this.#host = this.#hostWith({ maxBuffer, maxMessage, maxSubscriptions });
    this.#flusher = new Flusher(this.#turns, () => this.#distribute(), options.stallTimeout ?? 60_000, (connection) => {
      this.#end(connection, 1013, "nothing has been taken of what was sent");
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ready = promise;
    promise.catch(() => {});
    this.#follow(resolve, reject);
  }

  /**
   * Adds a connection. Where the socket can be listened to, that is all: what it sends is received, and it is removed when it
   * has ended. For others (Bun's, Hono's), call {@linkcode Hub.receive} and {@linkcode Hub.removeConnection} from their handlers.
   *
   * Whom to let in is for the caller to say. A browser lets a page of any site connect, to a hub on its user's own machine, too, and
   * tells in the request's `Origin` which site that is.
   *
   * @param socket one that is open
   * @param options how it differs from the usual
   */
  addConnection(socket: HubSocket, options: AddConnectionOptions = {}): HubConnection {
    this.removeConnection(socket);
    const batch = options.batch ?? ("protocol" in socket && socket.protocol === BATCH_PROTOCOL);
    const connection = new Connection(++this.#lastId, socket, this.#host, {
      access: options.access,
      allowance: this.#allowance,
      batches: batch ? this.#batches : undefined,
    });
    this.#connections.set(socket, connection);
    this.#allowance.share(this.#connections.size);
    connection.wire.listen((data) => this.receive(socket, data), () => this.removeConnection(socket));
    this.#guarded(() => this.#options.onConnect?.(connection));
    if (this.#closed) this.#end(connection, 1001, "the hub is ending");
    if (this.#isAway) this.#end(connection, 1013, "the hub cannot reach its bus: connect again later");
    return connection;
  }

  /**
   * Takes what a connection has sent.
   *
   * @param socket one that has been added; anything from others is ignored
   * @param data text, or its bytes
   */
  receive(socket: HubSocket, data: unknown): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined || this.#closed) return;
    const bytes = sizeOf(data);
    this.#receivedBytes += bytes;
    if (this.#isReady) connection.receive(data, bytes);
    else this.ready.then(() => connection.receive(data, bytes), () => {});
  }

  /**
   * Removes a connection, and with it all that it held. The socket is not closed.
   *
   * @param socket one that has been added; others are ignored
   */
  removeConnection(socket: HubSocket): void {
    const connection = this.#connections.get(socket);
    if (connection !== undefined) this.#end(connection);
  }

  /**
   * Publishes an event on the bus, and so to those who subscribed to it. It waits as long as the hub has
   * yet to fan out much of what was published before.
   *
   * @param topic its topic
   * @param payload its content
   * @param options how it is published, as on any bus
   * @throws {TopicError} if the topic breaks a rule
   * @throws {BusError} if the bus could not take it
   */
  async publish(topic: string, payload: Uint8Array | string, options?: PublishOptions): Promise<Published> {
    // Where the carrier does not tell when all has been received, it is elsewhere, and has a bound of its own.
    const bytes = (typeof payload === "string" ? bytesOf(payload) : payload.length) + EVENT_BYTES;
    while (
      this.#aheadBytes + bytes > MAX_AHEAD_BYTES && this.#aheadBytes > 0 && this.#subscription?.caughtUp === false
    ) {
      await this.#caughtUp.promise;
    }
    this.#aheadBytes += bytes;
    try {
      const published = await this.#bus.publish(topic, payload, options);
      this.#published++;
      return published;
    } catch (error) {
      this.#aheadBytes = Math.max(0, this.#aheadBytes - bytes);
      throw error;
    }
  }

  /** What it has counted. */
  get stats(): HubStats {
    this.#distribute();
    let queuedBytes = 0;
    let maxQueuedBytes = 0;
    let subscriptions = 0;
    for (const connection of this.#connections.values()) {
      queuedBytes += connection.queuedBytes;
      maxQueuedBytes = Math.max(maxQueuedBytes, connection.queuedBytes);
      subscriptions += connection.subscriptions;
    }
    return {
      connections: this.#connections.size,
      subscriptions,
      published: this.#published,
      receivedBytes: this.#receivedBytes,
      delivered: this.#delivered,
      deliveredBytes: this.#deliveredBytes,
      slowConsumers: this.#slowConsumers,
      errors: this.#errors,
      queuedBytes,
      maxQueuedBytes,
    };
  }

  /**
   * Where somebody who begins now could come back to: the last event; `null` if the bus held none yet; `undefined` if
   * the bus does not tell.
   */
  get position(): EventMark | null | undefined {
    return this.#position;
  }

  /**
   * Ends every connection with code 1001, after what it has published is on the bus, and what waits for it has been handed over as
   * far as there is room.
   */
  async close(): Promise<void> {
    this.#closed = true;
    this.#letPublish();
    await Promise.all(Array.from(this.#connections.values(), ({ published }) => published));
    this.#flusher.flush();
    for (const connection of this.#connections.values()) this.#end(connection, 1001, "the hub is ending");
    this.#flusher.close();
    this.#turns.close();
    await this.#subscription?.return();
  }

  // The bus.

  async #follow(begun: () => void, failed: (error: unknown) => void): Promise<void> {
    let retryMs = RETRY_MS;
    while (!this.#closed) {
      try {
        const subscription = this.#bus.subscribe(">", { window: 0 });
        this.#subscription = subscription;
        const position = await subscription.ready;
        this.#position ??= position === undefined ? undefined : position.after ?? null;
        this.#isReady = true;
        this.#isAway = false;
        begun();
        retryMs = RETRY_MS;
        await this.#take(subscription);
      } catch (error) {
        if (this.#closed) return;
        failed(error);
        if (!this.#isReady) return;
        this.#missed(error);
        await new Promise((resolve) => setTimeout(resolve, retryMs));
        retryMs = Math.min(MAX_RETRY_MS, retryMs * 2);
      }
    }
  }

  /** Takes events from the bus until it has no more. */
  async #take(subscription: Subscription): Promise<void> {
    for (let bytes = 0, flushes = 0;;) {
      const next = subscription.next();
      if (subscription.caughtUp) this.#settled();
      try {
        const { value, done } = await next;
        if (done) throw new Error("the bus has ended");
        // What came before has been handed over.
        if (this.#flusher.flushes !== flushes) bytes = 0;
        flushes = this.#flusher.flushes;
        bytes += this.#fanOut(value);
      } catch (error) {
        if (!(error instanceof UnreadableEventError || error instanceof GapError)) throw error;
        this.#options.log?.(error.message);
        if (error instanceof GapError) this.#tellGap(error);
      }
      if (bytes < TURN_BYTES) continue;
      await this.#giveTurn(bytes);
      bytes = 0;
    }
  }

  /** Tells all who may have been to have one of the events that are gone: what they were about is not known any more. */
  #tellGap(gap: GapError): void {
    for (const connection of this.#connections.values()) {
      if (connection.subscriptions > 0) connection.tellGap(gap);
    }
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => this.#turns.next(resolve));
  }

  /** Lets the sockets send, and waits for those that are far behind, as long as they make progress and are not too slow. */
  async #giveTurn(bytes: number): Promise<void> {
    this.#flusher.hasten();
    const began = performance.now();
    for (;;) {
      do await this.#turn(); while (this.#flusher.isFlushing);
      this.#flusher.look();
      const behind = this.#flusher.countBehind(this.#host.limits.maxBuffer / 2);
      const patience = Math.min(MAX_TURN_MS, behind * bytes / SLOWEST_BYTES_PER_MS);
      if (performance.now() - began >= patience) return;
    }
  }

  /** Gives an event to those who want it. Returns about how many bytes that is for each of them. */
  #fanOut(event: BusEvent): number {
    this.#position = event;
    const receivers = this.#routes.match(event.topic);
    if (receivers.length === 0) return UNWANTED_BYTES;
    if (this.#run?.receivers !== receivers) {
      this.#distribute();
      this.#run = new Run(event.topic, receivers);
    }
    const run = this.#run;
    const encoded = this.#guarded(() => this.#encode(event));
    if (encoded === undefined) return UNWANTED_BYTES;
    run.events.push(encoded);
    this.#flusher.gather();
    if (this.#withHistories.size > 0) this.#distribute();
    return encoded.plain.bytes;
  }

  /** Gives what has come to those who want it. */
  #distribute(): void {
    const run = this.#run;
    if (run === undefined) return;
    this.#run = undefined;
    for (const connection of run.receivers) this.#guarded(() => connection.deliverAll(run));
  }

  /** Does what may call code that is not the hub's own: a fault in it is to cost nobody else anything. */
  #guarded<Result>(action: () => Result): Result | undefined {
    try {
      return action();
    } catch (error) {
      this.#options.log?.(`internal error: ${stackOf(error)}`);
      return undefined;
    }
  }

  /** Nothing more has come. */
  #settled(): void {
    this.#letPublish();
    for (const connection of this.#withHistories) {
      if (!connection.hubSettled()) this.#withHistories.delete(connection);
    }
  }

  #letPublish(): void {
    if (this.#aheadBytes === 0) return;
    this.#aheadBytes = 0;
    this.#caughtUp.resolve();
    this.#caughtUp = Promise.withResolvers();
  }

  /** Events have been missed, or may have been: those who hear of it can come back, and ask for what came since. */
  #missed(error: unknown): void {
    this.#isAway = true;
    this.#letPublish();
    this.#options.log?.(`the bus failed, and is tried again: ${messageOf(error)}`);
    for (const connection of this.#connections.values()) {
      this.#end(connection, 1013, "the hub may have missed events of its bus: connect again, and resume");
    }
  }

  /** Those who are given an event by a history ask for it one after another. */
  #encode(event: BusEvent): EncodedEvent {
    if (this.#encoded?.event !== event) this.#encoded = new EncodedEvent(event);
    return this.#encoded;
  }

  #frameFor(event: BusEvent, { details }: Connection): Frame {
    const frame = this.#encode(event).frame(details);
    this.#delivered++;
    this.#deliveredBytes += frame.bytes;
    return frame;
  }

  // Connections.

  #hostWith(limits: ConnectionLimits): ConnectionHub {
    const position = () => this.#position;
    return {
      limits,
      bus: this.#bus,
      get position() {
        return position();
      },
      publish: (topic, payload, options) => this.publish(topic, payload, options),
      frameOf: (event, connection) => this.#frameFor(event, connection),
      isCaughtUp: (history) => this.#isCaughtUp(history),
      route: (filter, connection) => this.#routes.add(filter, connection),
      unroute: (filter, connection) => this.#routes.delete(filter, connection),
      hasHistory: (connection) => this.#withHistories.add(connection),
      turn: () => this.#turn(),
      distribute: () => this.#distribute(),
      delivered: ({ list, bytes }) => {
        this.#delivered += list.length;
        this.#deliveredBytes += bytes;
      },
      changed: (connection) => this.#flusher.add(connection),
      subscribed: (connection, filter) => this.#guarded(() => this.#options.onSubscribe?.(connection, filter)),
      refused: () => this.#errors++,
      overflowed: (connection) => this.#overflowed(connection),
      drop: (connection, code, reason) => this.#end(connection, code, reason),
    };
  }

  #overflowed(connection: Connection): void {
    this.#slowConsumers++;
    const { queuedBytes } = connection;
    this.#end(connection, 1013, "events came faster than they were read");
    this.#guarded(() => this.#options.onBackpressure?.(connection, queuedBytes));
  }

  #end(connection: Connection, code?: number, reason?: string): void {
    if (this.#connections.get(connection.socket) !== connection) return;
    this.#connections.delete(connection.socket);
    this.#allowance.share(this.#connections.size);
    connection.end(code, reason);
    this.#flusher.delete(connection);
    this.#withHistories.delete(connection);
    this.#guarded(() => this.#options.onDisconnect?.(connection));
  }

  #isCaughtUp(history: History): boolean {
    return history.isCaughtUp && this.#subscription?.caughtUp === true;
  }
}

function sizeOf(data: unknown): number {
  if (typeof data === "string") return bytesOf(data);
  return data instanceof ArrayBuffer || ArrayBuffer.isView(data) ? data.byteLength : 0;
}
