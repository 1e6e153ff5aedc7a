/**
 * The client of a hub for programs that know an `EventTarget`: browsers, and code that takes one, such as GraphQL Yoga's
 * `createPubSub`.
 *
 * It needs nothing but what browsers have, so that Deno, Node and Bun take it as it is, too.
 *
 * @module
 */
import type { BusError } from "../bus.ts";
import { checkTopic, RESERVED_PREFIX } from "../event.ts";
import { checkFilter, FilterTree } from "../filter.ts";
import { HubClient } from "./client.ts";
import { parseHubAddress } from "./client/address.ts";
import type { Ending } from "./client/connection.ts";
import type { Received } from "./client/received.ts";
import { partsOf } from "./envelope.ts";

/** How a {@linkcode Spoke} may differ from the usual. */
export interface SpokeOptions {
  /** The token to show to the hub, if it does not stand in the URL. */
  readonly token?: string;
  /** How many bytes of published events may wait for the hub to acknowledge them. 1 MiB if not given. */
  readonly maxQueueBytes?: number;
}

/** What goes into a {@linkcode SpokeEvent}. */
export interface SpokeEventInit<Detail> extends CustomEventInit<Detail> {
  /** The event's topic. */
  readonly topic: string;
  /** Its id on the bus, if the hub told. */
  readonly id?: string;
  /** When it was published, if the hub told. */
  readonly time?: string;
}

/**
 * An event that came from a hub. Its `type` is the topic or filter that was listened to, and its `detail` the payload as a JSON
 * value; bytes that are no text are `null` there.
 *
 * @typeParam Detail what the payload is
 *
 * @example
 * ```ts
 * import type { SpokeEvent } from "@ollie/ollie/spoke";
 *
 * function show({ topic, time, detail }: SpokeEvent<{ text: string }>): void {
 *   console.log(`${time} ${topic}: ${detail.text}`);
 * }
 * ```
 */
export class SpokeEvent<Detail = unknown> extends CustomEvent<Detail> {
  /** Its topic. */
  readonly topic: string;
  /** Its id on the bus: the cursor, as `BusEvent.id` is. Empty if the hub did not tell. */
  readonly id: string;
  /** When it was published: ISO 8601, UTC. Empty if the hub did not tell. */
  readonly time: string;

  /**
   * Makes one.
   *
   * @param type what was listened to
   * @param init what it is
   */
  constructor(type: string, init: SpokeEventInit<Detail>) {
    super(type, init);
    this.topic = init.topic;
    this.id = init.id ?? "";
    this.time = init.time ?? "";
  }
}

/** What the `detail` of a {@linkcode Spoke}'s own events says. */
export interface SpokeStatus {
  /** What happened, as words for a person. */
  readonly reason: string;
  /** What was refused, if it was a topic or a filter. */
  readonly topic?: string;
  /** The code of RFC 6455 that the hub ended the connection with, if it did. */
  readonly code?: number;
}

/** The types of a {@linkcode Spoke}'s own events: names that no topic can have. Listening to them subscribes to nothing. */
export type SpokeStatusType = "__connected" | "__disconnected" | "__missed" | "__error";

/** Whoever listens, as a function or an object. */
export type SpokeListener<Heard extends Event> = ((event: Heard) => unknown) | { handleEvent(event: Heard): unknown };

/** A listener for events whose `detail` is its own business. */
type AnyListener = SpokeListener<CustomEvent>;

/** A listener that is in force. */
interface Registered {
  readonly listener: AnyListener;
  readonly capture: boolean;
  /** What was given to the `EventTarget` in its place. */
  readonly inPlace: AnyListener;
  /** What its signal would do. */
  readonly signal: AbortSignal | undefined;
  readonly onAbort: () => void;
}

/**
 * A connection to a hub, as an `EventTarget`.
 *
 * - `addEventListener(topicOrFilter, listener)` subscribes, and removing the last listener unsubscribes. An event that comes is
 *   dispatched as a {@linkcode SpokeEvent}, once for each of the filters listened to that match its topic.
 * - `dispatchEvent(new CustomEvent(topic, { detail }))` publishes `detail`. It is not dispatched here: whoever subscribed gets it
 *   from the hub, as everybody else does.
 *
 * The connection is made at once and made again whenever it ends. Then all that was listened to is subscribed to again from
 * where it was: on a bus that keeps its events none is missed, and none comes twice. What is published while there is no
 * connection waits, up to `maxQueueBytes`. What was sent and not acknowledged before a connection ended is sent again: such an
 * event may be on the bus twice, but is never lost.
 *
 * It has events of its own, each a `CustomEvent` with a {@linkcode SpokeStatus}:
 *
 * | type | when |
 * | --- | --- |
 * | `__connected` | it is connected, for the first time or again |
 * | `__disconnected` | the connection has ended; another attempt follows |
 * | `__missed` | events have been missed, or may have been: they were removed before they could be had, or the hub's bus keeps none |
 * | `__error` | a connection could not be made, or the hub has refused something |
 *
 * @example
 * ```ts
 * import { Hub, MemoryBus, Spoke } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * // What `ollie hub` does, in short.
 * await using bus = new MemoryBus();
 * const hub = new Hub(bus);
 * const server = Deno.serve({ port: 0, onListen() {} }, (request) => {
 *   const { socket, response } = Deno.upgradeWebSocket(request, { protocol: "ollie.batch.v1" });
 *   socket.onopen = () => hub.addConnection(socket);
 *   return response;
 * });
 *
 * const spoke = new Spoke(`ws://localhost:${server.addr.port}`);
 * const heard = new Promise((resolve) => {
 *   spoke.addEventListener("message.*", ({ topic, detail }) => resolve({ topic, detail }));
 * });
 * spoke.dispatchEvent(new CustomEvent("message.sent:conv-123", { detail: { text: "hello" } }));
 * assert.deepEqual(await heard, { topic: "message.sent:conv-123", detail: { text: "hello" } });
 *
 * await spoke.close();
 * await hub.close();
 * await server.shutdown();
 * ```
 */
export class Spoke extends EventTarget {
  readonly #url: string;
  readonly #client: HubClient;
  readonly #listeners = new Map<string, Registered[]>();
  readonly #filters = new FilterTree<string>();

  /**
   * Begins to connect.
   *
   * @param url `ws://HOST:PORT/` or `wss://HOST/`; a token may stand before the host, as in `ws://:TOKEN@HOST/`
   * @param options how it differs from the usual
   * @throws {BusError} if it is no such URL, or the token cannot be sent
   */
  constructor(url: string | URL, options: SpokeOptions = {}) {
    super();
    const address = parseHubAddress(url, options.token);
    this.#url = address.url;
    this.#client = new HubClient(address, {
      event: (topic, received) => this.#deliver(topic, received),
      opened: () => this.#announce("__connected", { reason: `connected to ${this.#url}` }),
      ended: (ending) => this.#disconnected(ending),
      refused: (filters, reason) => {
        for (const topic of filters) this.#announce("__error", { reason, topic });
      },
      missed: (reason) => this.#announce("__missed", { reason }),
      gap: ({ reason }) => this.#announce("__missed", { reason }),
      error: (reason) => this.#announce("__error", { reason }),
    }, { maxQueueBytes: options.maxQueueBytes });
  }

  /** The URL that it connects to, without a token. */
  get url(): string {
    return this.#url;
  }

  /** Whether it is connected now. */
  get connected(): boolean {
    return this.#client.isOpen;
  }

  /**
   * Resolves once it is connected and all listeners that there are now are in force: nothing that is published from then on is
   * missed. Rejects with a {@linkcode BusError} if the hub refuses one of them, or the spoke is closed before.
   */
  get ready(): Promise<void> {
    return this.#client.settled();
  }

  /**
   * Listens to what the spoke tells of itself.
   *
   * @param type one of its own events
   * @param listener as for any `EventTarget`
   * @param options as for any `EventTarget`
   */
  override addEventListener(
    type: SpokeStatusType,
    listener: SpokeListener<CustomEvent<SpokeStatus>> | null,
    options?: AddEventListenerOptions | boolean,
  ): void;
  /**
   * Listens to a topic, or to all topics that match a filter, and subscribes to it if nobody listened to it yet.
   *
   * @param type a topic or a filter, such as `message.sent:conv-123`, `message.*` or `>`
   * @param listener as for any `EventTarget`
   * @param options as for any `EventTarget`
   * @throws {FilterError} if it is neither
   */
  override addEventListener<Detail = unknown>(
    type: string,
    listener: SpokeListener<SpokeEvent<Detail>> | null,
    options?: AddEventListenerOptions | boolean,
  ): void;
  override addEventListener(
    type: string,
    listener: AnyListener | null,
    options: AddEventListenerOptions | boolean = {},
  ): void {
    if (listener === null || listener === undefined) return;
    const { capture = false, once = false, passive, signal } = typeof options === "boolean"
      ? { capture: options }
      : options ?? {};
    if (signal?.aborted) return;
    if (!isOwn(type)) checkFilter(type);
    if (this.#find(type, listener, capture) !== undefined) return;

    const remove = () => this.removeEventListener(type, listener, { capture });
    const registered: Registered = {
      listener,
      capture: Boolean(capture),
      // Whether one that is heard once has been heard, nobody else tells.
      inPlace: once ? (event) => (remove(), call(this, listener, event)) : listener,
      signal,
      onAbort: remove,
    };
    signal?.addEventListener("abort", remove, { once: true });
    const others = this.#listeners.get(type);
    if (others !== undefined) {
      others.push(registered);
    } else {
      this.#listeners.set(type, [registered]);
      if (!isOwn(type)) {
        this.#filters.add(type, type);
        this.#client.add(type);
      }
    }
    super.addEventListener(type, asListener(registered.inPlace), { capture, passive });
  }

  /**
   * Listens no more, and unsubscribes if nobody else listens to the same topic or filter.
   *
   * @param type as it was given to {@linkcode Spoke.addEventListener}
   * @param listener the same
   * @param options the same, as far as `capture` goes
   */
  override removeEventListener<Heard extends Event>(
    type: string,
    listener: SpokeListener<Heard> | null,
    options: EventListenerOptions | boolean = {},
  ): void {
    const { capture = false } = typeof options === "boolean" ? { capture: options } : options ?? {};
    const registered = this.#find(type, listener, capture);
    if (registered === undefined) return;
    registered.signal?.removeEventListener("abort", registered.onAbort);
    super.removeEventListener(type, asListener(registered.inPlace), { capture });
    const others = this.#listeners.get(type)?.filter((other) => other !== registered) ?? [];
    if (others.length > 0) {
      this.#listeners.set(type, others);
      return;
    }
    this.#listeners.delete(type);
    if (isOwn(type)) return;
    this.#filters.delete(type, type);
    this.#client.remove(type);
  }

  /**
   * Publishes an event: its `type` is the topic, and its `detail` the payload, as JSON; `undefined` is `null` there. What the hub
   * refuses is told by an `__error`.
   *
   * @param event such as `new CustomEvent("color", { detail: "red" })`
   * @returns `true`
   * @throws {TopicError} if the topic breaks a rule
   * @throws {BusError} if too much is waiting for the hub already, or the spoke is closed
   * @throws {TypeError} if the detail is no JSON value
   */
  override dispatchEvent(event: Event): boolean {
    const topic = event.type;
    checkTopic(topic);
    const detail: unknown = "detail" in event ? event.detail : null;
    const payload = JSON.stringify(detail ?? null);
    if (payload === undefined) {
      throw new TypeError(`the detail of ${JSON.stringify(topic)} is no JSON value: ${typeof detail}`);
    }
    const envelope = `${JSON.stringify(partsOf(topic)).slice(0, -1)},"payload":${payload}}`;
    this.#client.publish(topic, envelope).catch((error: BusError) => {
      this.#announce("__error", { reason: error.message, topic });
    });
    return true;
  }

  /**
   * Ends the connection, for good. Nothing is dispatched any more but `__error`, for what could not be published: that is still
   * sent, for some seconds at most.
   *
   * @returns when the connection has ended
   */
  close(): Promise<void> {
    return this.#client.close();
  }

  /** As {@linkcode Spoke.close}, without waiting for the end. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** As {@linkcode Spoke.close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #find(type: string, listener: unknown, capture: boolean): Registered | undefined {
    return this.#listeners.get(type)?.find((other) =>
      other.listener === listener && other.capture === Boolean(capture)
    );
  }

  #deliver(topic: string, { payload, at, time }: Received): void {
    for (const type of this.#filters.match(topic)) {
      // A listener that was called just before may have removed another.
      if (!this.#listeners.has(type)) continue;
      super.dispatchEvent(new SpokeEvent(type, { detail: payload, topic, id: at, time }));
    }
  }

  #disconnected({ opened, reason, code }: Ending): void {
    if (opened) this.#announce("__disconnected", { reason, code });
    else this.#announce("__error", { reason: `cannot connect to ${this.#url}: ${reason}` });
  }

  #announce(type: SpokeStatusType, detail: SpokeStatus): void {
    super.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** Whether the spoke itself tells of it, and not the hub. */
function isOwn(type: string): boolean {
  return type.startsWith(RESERVED_PREFIX);
}

/** The types of an `EventTarget` know no other event than `Event`; what is dispatched here is what the listener expects. */
function asListener(listener: AnyListener): EventListenerOrEventListenerObject {
  return listener as EventListenerOrEventListenerObject;
}

/** As an `EventTarget` calls a listener. */
function call(target: Spoke, listener: AnyListener, event: CustomEvent): unknown {
  return typeof listener === "function" ? listener.call(target, event) : listener.handleEvent(event);
}
