/**
 * One client of a hub: what it asks for, what it publishes, and what waits for it.
 *
 * @module
 */
import {
  BusError,
  type EventMark,
  type GapError,
  type Published,
  type PublishOptions,
  RefusedEventError,
} from "../bus.ts";
import { type BusEvent, checkTopic, TopicError } from "../event.ts";
import { FilterError } from "../filter.ts";
import { EVENT_BYTES } from "../bus/subscription.ts";
import { messageOf } from "../thrown.ts";
import type { Access } from "./access.ts";
import { type Envelope, EnvelopeError, isControl, parseEnvelope, payloadOf, topicOf } from "./envelope.ts";
import type { Details } from "./encoded_event.ts";
import { type Allowance, type Batches, type Frame, frameOf, HANDED_BYTES, Outbox } from "./outbox.ts";
import { parseFilters, parseSubscribe } from "./requests.ts";
import type { Frames, Run } from "./run.ts";
import { type HubSocket, Wire } from "./socket.ts";
import { type Subscriber, Subscriptions, type SubscriptionsHub } from "./subscriptions.ts";

/** A client of a hub, as those see it who run the hub. */
export interface HubConnection {
  /** Tells it from others, in a log. */
  readonly id: number;
  /** What was given to the hub. */
  readonly socket: HubSocket;
  /** Whose it is, if that is known. */
  readonly name: string | undefined;
  /** The filters that it has subscribed to. */
  readonly filters: Iterable<string>;
  /** How many bytes wait for it. */
  readonly queuedBytes: number;
}

/** What a connection needs of its hub. */
export interface ConnectionHub extends SubscriptionsHub<Connection> {
  /** What a connection may do. */
  readonly limits: ConnectionLimits;
  /** Publishes an event. */
  publish(topic: string, payload: Uint8Array | string, options: PublishOptions): Promise<Published>;
  /** The frame of an event. */
  frameOf(event: BusEvent, connection: Connection): Frame;
  /** Gives what has come to those who want it. */
  distribute(): void;
  /** Frames have been given to a connection. */
  delivered(frames: Frames): void;
  /** Something waits for a connection. */
  changed(connection: Connection): void;
  /** A client has been told of an error. */
  refused(): void;
  /** More waits for a connection than may. */
  overflowed(connection: Connection): void;
  /** Ends a connection. */
  drop(connection: Connection, code: number, reason: string): void;
}

/** What a connection may do. */
export interface ConnectionLimits {
  /** How many bytes may wait for it. */
  readonly maxBuffer: number;
  /** How long what it sends may be, in bytes. */
  readonly maxMessage: number;
  /** How many filters it may subscribe to. */
  readonly maxSubscriptions: number;
}

/** So many errors in so long a time, in milliseconds, end a connection. */
const MAX_ERRORS = 100;
const ERRORS_MS = 60_000;

/** How many bytes that a connection has sent may wait for the bus, each event counted as its text and some more. */
const MAX_UNPUBLISHED_BYTES = 32 * 1024 * 1024;

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/** A client of a hub. */
export class Connection implements HubConnection, Subscriber {
  readonly id: number;
  readonly socket: HubSocket;
  /** The same, whatever kind it is. */
  readonly wire: Wire;
  /** What it may do; everything if not given. */
  readonly access: Access | undefined;
  /** Whether it is to be flushed soon; the {@linkcode Flusher}'s own. */
  isToFlush = false;
  readonly #hub: ConnectionHub;
  readonly #outbox: Outbox;
  readonly #subscriptions: Subscriptions<Connection>;
  #waitsForRoom: PromiseWithResolvers<void> | undefined;
  /** When it was told of errors, in milliseconds, the oldest first. */
  #errors: number[] = [];
  #publishing: Promise<void> = Promise.resolve();
  #unpublishedBytes = 0;
  #isOpen = true;

  /**
   * @param id tells it from others
   * @param socket what it is connected by
   * @param hub what it is connected to
   * @param options what it may do, and how much its socket may hold; and where it takes several envelopes in a frame, what makes them
   */
  constructor(id: number, socket: HubSocket, hub: ConnectionHub, { access, allowance, batches }: {
    readonly access: Access | undefined;
    readonly allowance: Allowance;
    readonly batches: Batches | undefined;
  }) {
    this.id = id;
    this.access = access;
    this.#hub = hub;
    this.socket = socket;
    this.wire = new Wire(socket);
    this.#outbox = new Outbox(this.wire, allowance, batches);
    this.#subscriptions = new Subscriptions(this, hub);
  }

  get name(): string | undefined {
    return this.access?.name;
  }

  get filters(): Iterable<string> {
    return this.#subscriptions.filters;
  }

  /** How many they are. */
  get subscriptions(): number {
    return this.#subscriptions.size;
  }

  /** How many frames wait for it. */
  get queuedFrames(): number {
    return this.#outbox.frames;
  }

  get queuedBytes(): number {
    return this.#outbox.bytes;
  }

  /** How many bytes its socket has sent so far, as far as it is known. */
  get sentBytes(): number {
    return this.#outbox.sent;
  }

  /** What it is told of events besides what they are. */
  get details(): Details {
    return this.#subscriptions.details;
  }

  // What it receives.

  /** Sends it an event that the hub has received, unless it has had it, or a history gives it in its place. */
  deliver(event: BusEvent): void {
    if (!this.#isOpen || !this.#mayReceive(event) || !this.#subscriptions.takesLive(event)) return;
    this.#send(this.#hub.frameOf(event, this));
  }

  /** Sends it events in a row of one topic, as {@linkcode deliver} does each. */
  deliverAll(run: Run<Connection>): void {
    if (!this.#isOpen) return;
    if (!this.#subscriptions.takesAllLive) {
      for (const { event } of run.events) this.deliver(event);
      return;
    }
    if (this.access?.mayReceive(run.topic) === false) return;
    const frames = run.frames(this.details);
    this.#hub.delivered(frames);
    if (this.#outbox.bytes + frames.bytes > this.#hub.limits.maxBuffer) {
      for (const frame of frames.list) this.#send(frame);
      return;
    }
    this.#outbox.pushAll(frames);
    this.#hub.changed(this);
  }

  #mayReceive({ topic }: BusEvent): boolean {
    return this.access?.mayReceive(topic) ?? true;
  }

  /** Hands over what waits, as far as the socket has room. Returns whether that was all. */
  flush(): boolean {
    const all = this.#outbox.flush();
    if (this.#outbox.bytes <= HANDED_BYTES) {
      this.#waitsForRoom?.resolve();
      this.#waitsForRoom = undefined;
    }
    return all;
  }

  #send(frame: Frame): void {
    if (!this.#isOpen) return;
    // What is too large by itself still gets through to a client that has nothing else to read.
    const { maxBuffer } = this.#hub.limits;
    if (this.#outbox.bytes > 0 && this.#outbox.bytes + frame.bytes > maxBuffer) {
      this.flush();
      if (this.#outbox.bytes > 0 && this.#outbox.bytes + frame.bytes > maxBuffer) return this.#hub.overflowed(this);
    }
    this.#outbox.push(frame);
    this.#hub.changed(this);
  }

  #tell(type: string, payload: unknown): void {
    this.#hub.distribute();
    this.#send(frameOf(JSON.stringify({ type, id: "", payload })));
  }

  // What it asks for.

  /**
   * Takes a frame that it has sent.
   *
   * @param data text, or its bytes
   * @param bytes how long it is
   */
  receive(data: unknown, bytes: number): void {
    if (!this.#isOpen) return;
    let envelope: Envelope | undefined;
    try {
      const { maxMessage } = this.#hub.limits;
      if (bytes > maxMessage) throw new EnvelopeError(`this message is too large: ${maxMessage} bytes are allowed`);
      envelope = parseEnvelope(textOf(data));
      if (isControl(envelope)) this.#control(envelope);
      else this.#publish(envelope, bytes + EVENT_BYTES);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const topic = error instanceof EnvelopeError ? error.topic : undefined;
      this.refuse(error.message, topic ?? (envelope && subjectOf(envelope)), envelope?.ref ?? refAtEnd(data));
    }
  }

  #control({ type, payload, ref }: Envelope): void {
    this.#hub.distribute();
    switch (type) {
      case "__subscribe":
        return this.#subscribe(payload, ref);
      case "__unsubscribe":
        return this.#subscriptions.remove(parseFilters(payload));
      case "__ping":
        return this.#tell("__pong", payload);
      case "__identify":
        this.#identify(ref);
        return;
      default:
        throw new EnvelopeError(
          `the type ${
            JSON.stringify(type)
          } is reserved: a client sends __subscribe, __unsubscribe, __ping, __identify and ` +
            "events",
        );
    }
  }

  #publish(envelope: Envelope, bytes: number): void {
    const topic = topicOf(envelope);
    checkTopic(topic);
    const payload = payloadOf(envelope);
    if (this.access?.mayPublish(topic) === false) {
      throw new EnvelopeError(`${this.#who()} may not publish ${JSON.stringify(topic)}`);
    }
    this.#unpublishedBytes += bytes;
    if (this.#unpublishedBytes > MAX_UNPUBLISHED_BYTES) {
      return this.#hub.drop(this, 1013, "events are published faster than the bus takes them");
    }
    this.#publishing = this.#publishing.then(async () => {
      try {
        const { id, time } = await this.#hub.publish(topic, payload, { via: envelope.via });
        if (envelope.ref !== undefined) this.#tell("__published", { ref: envelope.ref, at: id, time });
      } catch (error) {
        // The bus has failed, or takes no such event; for neither is the client to blame.
        this.tellError(messageOf(error), topic, envelope.ref, error instanceof RefusedEventError);
      } finally {
        this.#unpublishedBytes -= bytes;
      }
    });
  }

  #subscribe(payload: unknown, ref: unknown): void {
    const request = parseSubscribe(payload);
    const forbidden = request.filters.find((filter) => this.access?.maySubscribe(filter) === false);
    if (forbidden !== undefined) {
      throw new EnvelopeError(`${this.#who()} may not subscribe to ${JSON.stringify(forbidden)}`, { topic: forbidden });
    }
    const { topic } = payload as { readonly topic: unknown };
    this.#subscriptions.add({ ...request, topic, ref });
  }

  #who(): string {
    return this.name === undefined ? "this connection" : this.name;
  }

  async #identify(ref: unknown): Promise<void> {
    try {
      this.#tell("__identity", { identity: await this.#hub.bus.identity(), ref });
    } catch (error) {
      this.tellError(messageOf(error), undefined, ref);
    }
  }

  /** Answers what could not be understood, or is not allowed. */
  refuse(reason: string, topic: unknown, ref: unknown): void {
    this.tellError(reason, topic, ref, true);
    const now = Date.now();
    this.#errors.push(now);
    if (this.#errors.length < MAX_ERRORS) return;
    if (now - this.#errors[0] <= ERRORS_MS) {
      // Whoever waits for answers is to have had them, and not to ask the same again.
      this.flush();
      this.#hub.drop(this, 1008, `${MAX_ERRORS} errors in a minute; the last: ${reason}`);
    }
    this.#errors.shift();
  }

  tellSubscribed(topic: unknown, ref: unknown, position: EventMark | null | undefined): void {
    this.#tell("__subscribed", { topic, ref, at: position === null ? null : position?.id, time: position?.time });
  }

  /** @param refused whether to ask for the same again would bring the same */
  tellError(reason: string, topic?: unknown, ref?: unknown, refused?: boolean): void {
    this.#hub.refused();
    this.#tell("__error", { reason, topic, ref, ...refused ? { refused } : {} });
  }

  tellGap({ message, after, until: { id, time } }: GapError, topic?: unknown, ref?: unknown): void {
    this.#tell("__gap", { reason: message, after: after ?? null, at: id, time, topic, ref });
  }

  // The past that it has asked for.

  sendPast(event: BusEvent): void {
    if (!this.#isOpen || !this.#mayReceive(event)) return;
    // It is read no faster than there is room, so what may wait needs no other bound.
    this.#outbox.push(this.#hub.frameOf(event, this));
    this.#hub.changed(this);
  }

  room(): Promise<void> | undefined {
    if (this.#outbox.bytes <= HANDED_BYTES || !this.#isOpen) return undefined;
    this.#waitsForRoom ??= Promise.withResolvers();
    return this.#waitsForRoom.promise;
  }

  drop(code: number, reason: string): void {
    this.#hub.drop(this, code, reason);
  }

  /** The hub has given all that it has received. Returns whether some of what this connection has still comes from the past. */
  hubSettled(): boolean {
    return this.#subscriptions.hubSettled();
  }

  /** Resolves when what it has published so far is on the bus, or has been refused. */
  get published(): Promise<void> {
    return this.#publishing;
  }

  /**
   * Ends it: all that it held is gone.
   *
   * @param code of RFC 6455, if it is the hub that ends it
   * @param reason for a person
   */
  end(code?: number, reason = ""): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#subscriptions.end();
    this.#outbox.clear();
    this.#waitsForRoom?.resolve();
    if (code !== undefined) this.wire.close(code, shortened(reason));
  }
}

/** What a client can be told about itself; anything else is a fault of ours. */
function isRefusal(error: unknown): error is Error {
  return error instanceof EnvelopeError || error instanceof TopicError || error instanceof FilterError ||
    error instanceof BusError;
}

/** What an envelope that was refused was about. */
function subjectOf(envelope: Envelope): unknown {
  if (!isControl(envelope)) return envelope.id === "" ? envelope.type : `${envelope.type}:${envelope.id}`;
  const { payload } = envelope;
  return typeof payload === "object" && payload !== null && "topic" in payload ? payload.topic : undefined;
}

/**
 * The `ref` of a message that could not be read, where it is a number and comes last: whoever waits for an answer to it should not
 * wait for ever, and a message that is too large is not worth more than a look at its end.
 */
function refAtEnd(data: unknown): number | undefined {
  const [, ref] = /"ref":\s*(\d{1,15})\s*\}\s*$/.exec(typeof data === "string" ? data.slice(-100) : "") ?? [];
  return ref === undefined ? undefined : Number(ref);
}

/** A frame as text. */
function textOf(data: unknown): string {
  if (typeof data === "string") return data;
  if (!(data instanceof ArrayBuffer || ArrayBuffer.isView(data))) throw new EnvelopeError("this is no text");
  try {
    return strictUtf8.decode(data);
  } catch {
    throw new EnvelopeError("this is not UTF-8");
  }
}

/** The reason of a close frame has 123 bytes at most. */
function shortened(reason: string): string {
  const bytes = new TextEncoder().encode(reason);
  return bytes.length <= 123 ? reason : `${new TextDecoder().decode(bytes.subarray(0, 117)).replace(/\ufffd$/, "")}...`;
}
