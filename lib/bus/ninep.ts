/**
 * A 9P server's files as a bus: `event.json` and `pub.json` of an {@linkcode EventTree}, which carry payloads to the byte, and `id`.
 *
 * @module
 */
import {
  type Bus,
  BusError,
  GapError,
  type Position,
  type Published,
  type PublishOptions,
  RefusedEventError,
  type SubscribeOptions,
  type Subscription,
  UnreadableEventError,
} from "../bus.ts";
import { concatenated } from "../bytes.ts";
import { type BusEvent, checkTopic } from "../event.ts";
import { filterList } from "../filter.ts";
import { base64, fromBase64 } from "../format.ts";
import { isIdentity, isVia } from "../identity.ts";
import { parseNinepAddress } from "../ninep/address.ts";
import { NinepClient, type RemoteFile } from "../ninep/client.ts";
import { NinepError } from "../ninep/error.ts";
import { parseGap, REFUSED, UNREADABLE } from "../ninep/tree/refusal.ts";
import { Queue } from "../queue.ts";
import { BEFORE_ALL, isKnownGap, placeOf } from "./place.ts";
import { EVENT_BYTES, PulledSubscription } from "./subscription.ts";

/**
 * How many reads of a subscription wait at the server: enough that it need not wait for the next one to come. A connection
 * can have 65,535 requests under way, so where there are many subscriptions each has to do with fewer.
 */
const READS = 16;
const FEW_READS = 2;
const MANY_SUBSCRIPTIONS = 1000;
/** The longest line that a server may send, in bytes. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;
/** How many bytes of events may wait for a subscriber, before the server is asked for no more. */
const MAX_AHEAD_BYTES = 1024 * 1024;
const NEWLINE = 10;

const utf8 = new TextEncoder();

/**
 * A bus at a 9P server, over one connection, which is made when it is first needed.
 *
 * A subscription is as good as that of the bus which is served: over a directory it can begin in the past, and a slow
 * subscriber loses nothing. When the connection ends, so do the subscriptions, with an error.
 *
 * @example
 * ```ts
 * import { MemoryBus, NinepBus, serve9p } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * // What `ollie serve9p` does.
 * await using memory = new MemoryBus();
 * await using serving = await serve9p(memory, "tcp:127.0.0.1:0");
 *
 * await using bus = new NinepBus(serving.addresses[0]);
 * await using colors = bus.subscribe("color");
 * await colors.ready;
 * const { id } = await bus.publish("color", "red");
 * const { value } = await colors.next();
 * assert.equal(value?.id, id);
 * ```
 */
export class NinepBus implements Bus {
  readonly #address: string;
  readonly #subscriptions = new Set<NinepSubscription>();
  #connection: Promise<Connection> | undefined;
  readonly #closed = new AbortController();
  /** Resolves when what was published before has been. */
  #publishing: Promise<unknown> = Promise.resolve();

  /**
   * Connects to nothing yet.
   *
   * @param address `unix:PATH` or `tcp:HOST:PORT`
   * @throws {BusError} if it is no such address
   */
  constructor(address: string) {
    parseNinepAddress(address);
    this.#address = address;
  }

  /**
   * Publishes one event.
   *
   * @throws {TopicError} if the topic breaks a rule
   * @throws {RefusedEventError} if it is longer than the server takes
   * @throws {BusError} if the server cannot be reached, or refuses
   */
  async publish(topic: string, payload: Uint8Array | string, { via }: PublishOptions = {}): Promise<Published> {
    checkTopic(topic);
    const bytes = typeof payload === "string" ? utf8.encode(payload) : payload;
    const line = utf8.encode(`${JSON.stringify({ topic, payload_base64: base64(bytes), via })}\n`);
    // One after another: a line that takes several writes must not be mixed with another.
    const publishing = this.#publishing.then(() => this.#publishLine(line));
    this.#publishing = publishing.catch(() => {});
    return await publishing;
  }

  /**
   * Subscribes.
   *
   * @throws {FilterError} if one of the filters is not one
   * @throws {BusError} if the server would take one of the filters for something else
   */
  subscribe(filter: string | readonly string[], { from = "now", signal }: SubscribeOptions = {}): Subscription {
    const filters = filterList(filter);
    const odd = filters.find((filter) => /\s|^(replay|after|payload)=/.test(filter));
    if (odd !== undefined) {
      throw new BusError(
        `the filter ${
          JSON.stringify(odd)
        } cannot be asked of a 9P server: white space stands between filters there, and after=, replay= and payload= begin options`,
      );
    }
    const request = [...filters, ...beginningOf(from), "payload=base64"].join(" ");
    const subscription = new NinepSubscription({
      request,
      position: from === "start" ? BEFORE_ALL : placeOf(from),
      signal,
      reads: this.#subscriptions.size < MANY_SUBSCRIPTIONS ? READS : FEW_READS,
      address: this.#address,
      open: async () => (await this.#connected()).client.open("event.json", "readwrite"),
      asBusError: (error) => this.#asBusError(error),
      release: () => this.#subscriptions.delete(subscription),
    });
    this.#subscriptions.add(subscription);
    if (signal?.aborted) subscription.end();
    else subscription.follow();
    return subscription;
  }

  /**
   * That of the bus which the server serves.
   *
   * @throws {BusError} if the server cannot be reached, or does not tell
   */
  async identity(): Promise<string> {
    const connection = await this.#connected();
    connection.identity ??= this.#readIdentity(connection.client).catch((error) => {
      connection.identity = undefined;
      throw error;
    });
    return await connection.identity;
  }

  /** Ends every subscription, and the connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(new BusError(`the bus at ${this.#address} was closed`));
    for (const subscription of this.#subscriptions) subscription.end();
    const connection = await this.#connection?.catch(() => undefined);
    await connection?.client[Symbol.asyncDispose]();
  }

  /** The connection, which is made anew if there is none, or if it has ended. */
  async #connected(): Promise<Connection> {
    this.#closed.signal.throwIfAborted();
    const connecting = this.#connection ??= connectionTo(this.#address, this.#closed.signal);
    const connection = await connecting.catch((error) => {
      if (this.#connection === connecting) this.#connection = undefined;
      throw error;
    });
    if (!connection.client.ended) return connection;
    if (this.#connection === connecting) this.#connection = undefined;
    return await this.#connected();
  }

  /** `pub.json`, opened once for each connection. */
  async #pub(): Promise<RemoteFile> {
    const connection = await this.#connected();
    connection.pub ??= connection.client.open("pub.json", "readwrite").catch((error) => {
      connection.pub = undefined;
      throw error;
    });
    return await connection.pub;
  }

  async #readIdentity(client: NinepClient): Promise<string> {
    const untold = `${this.#address} does not tell which bus it serves`;
    let file: RemoteFile | undefined;
    try {
      file = await client.open("id", "read");
      const identity = new TextDecoder().decode(await file.read()).trim();
      if (isIdentity(identity)) return identity;
    } catch (error) {
      if (!(error instanceof NinepError)) throw error;
      throw new BusError(`${untold}: ${error.message}`, { cause: error });
    } finally {
      await file?.[Symbol.asyncDispose]();
    }
    throw new BusError(untold);
  }

  async #publishLine(line: Uint8Array): Promise<Published> {
    const refused = new AbortController();
    try {
      const pub = await this.#pub();
      // Asked for together, so that it takes one way there and back; what is refused has nothing to tell.
      const published = pub.read({ signal: refused.signal });
      published.catch(() => {});
      await pub.write(line);
      const { id, time } = recordOf(await published, ["id", "time"], this.#address);
      return { id, time };
    } catch (error) {
      refused.abort();
      throw this.#asBusError(error);
    }
  }

  #asBusError(error: unknown): unknown {
    if (!(error instanceof NinepError)) return error;
    const gap = parseGap(error.message);
    if (gap !== undefined) return new GapError(this.#address, gap);
    if (error.message.startsWith(REFUSED)) {
      return new RefusedEventError(`${this.#address}: ${error.message.slice(REFUSED.length)}`, { cause: error });
    }
    if (error.message.startsWith(UNREADABLE)) {
      return new UnreadableEventError(`${this.#address}: ${error.message.slice(UNREADABLE.length)}`, { cause: error });
    }
    return new BusError(`${this.#address}: ${error.message}`, { cause: error });
  }
}

/** A connection, and what has been asked for of it: `pub.json`, and the identity of the bus. */
interface Connection {
  readonly client: NinepClient;
  pub: Promise<RemoteFile> | undefined;
  identity: Promise<string> | undefined;
}

async function connectionTo(address: string, signal: AbortSignal): Promise<Connection> {
  return { client: await NinepClient.connect(address, signal), pub: undefined, identity: undefined };
}

/** What a line of JSON says that a server sent, if it is what such a line must say. */
function recordOf<Key extends string>(
  line: Uint8Array,
  keys: readonly Key[],
  address: string,
): Record<Key, string> & { readonly via?: unknown } {
  let said: Readonly<Record<string, unknown>> | null = null;
  try {
    said = JSON.parse(new TextDecoder().decode(line));
  } catch {
    // As below.
  }
  const missing = keys.find((key) => typeof said?.[key] !== "string");
  if (missing !== undefined) throw new BusError(`${address} sent a line without "${missing}": it is no bus`);
  // The line before has made sure of that.
  return said as Record<Key, string>;
}

function payloadOf(text: string, address: string): Uint8Array {
  try {
    return fromBase64(text);
  } catch (error) {
    throw new BusError(`${address} sent a payload that is not base64: it is no bus`, { cause: error });
  }
}

/** Where to begin, in the words that are written into `event`. */
function beginningOf(from: NonNullable<SubscribeOptions["from"]>): string[] {
  if (from === "now") return [];
  if (from === "start") return ["replay=all"];
  if ("last" in from) return [`replay=${from.last}`];
  const id = placeOf(from)?.after?.id ?? "";
  return [`after=${id === "" || /[\s"]/.test(id) ? JSON.stringify(id) : id}`];
}

/** What a subscription needs of its bus. */
interface NinepSubscriptionOptions {
  /** What is written into `event.json`. */
  readonly request: string;
  /** Where it begins, if that is known. */
  readonly position: Position | undefined;
  /** Ends it. */
  readonly signal: AbortSignal | undefined;
  /** How many reads wait at the server. */
  readonly reads: number;
  /** Where the server is. */
  readonly address: string;
  /** Opens `event.json`. */
  readonly open: () => Promise<RemoteFile>;
  /** What an error of the server is to those who know buses only. */
  readonly asBusError: (error: unknown) => unknown;
  /** Is called once, when it ends. */
  readonly release: () => void;
}

class NinepSubscription extends PulledSubscription {
  readonly #options: NinepSubscriptionOptions;
  /** What has come and has not been taken; what the server could not give has its place among the others. */
  readonly #ahead = new Queue<BusEvent | UnreadableEventError | GapError>();
  /** What it is not to have, or be told of, again. */
  readonly #seen: ReadonlySet<string>;
  #aheadBytes = 0;
  #hasRoom = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #over = false;
  /** The pieces of an event that was longer than a read. */
  #begun: Uint8Array[] = [];
  #begunBytes = 0;

  constructor(options: NinepSubscriptionOptions) {
    super(options.signal);
    this.#options = options;
    this.#seen = new Set(options.position?.seen.map(({ id }) => id));
  }

  /** What the server has yet to send is not known here. */
  override get caughtUp(): undefined {
    return undefined;
  }

  /** Opens the file, asks for the events, and reads them until the subscription is over. */
  async follow(): Promise<void> {
    const { open, asBusError, reads } = this.#options;
    let opened: RemoteFile | undefined;
    try {
      const file = opened = await open();
      await this.#begin(file);
      const reading = Array.from({ length: reads }, () => this.#readAll(file));
      // When the file is closed, the reads that wait end, with an error that says nothing new.
      for (const read of reading) read.catch(() => {});
      await Promise.race([Promise.all(reading), this.#ended.promise]);
    } catch (error) {
      // Told before the file is closed: the server may take its time for that.
      this.fail(asBusError(error));
    }
    await opened?.[Symbol.asyncDispose]();
  }

  async #begin(file: RemoteFile): Promise<void> {
    const request = utf8.encode(this.#options.request);
    if (request.length > file.iounit) {
      throw new BusError(`the filters are ${request.length} bytes long: this server takes ${file.iounit}`);
    }
    await file.write(request);
    // A read of nothing is answered once no event can be missed any more.
    await file.read({ count: 0 });
    this.begun(this.#options.position);
  }

  async #readAll(file: RemoteFile): Promise<void> {
    while (!this.#over) {
      if (this.#aheadBytes > MAX_AHEAD_BYTES) {
        await this.#hasRoom.promise;
        continue;
      }
      try {
        this.#receive(await file.read());
      } catch (error) {
        const failure = this.#options.asBusError(error);
        const { position } = this.#options;
        if (failure instanceof GapError && position !== undefined && isKnownGap(position, failure.until)) continue;
        if (failure instanceof UnreadableEventError || failure instanceof GapError) {
          this.#put(failure, 0);
          continue;
        }
        // At once: what other reads may still bring comes after a gap.
        this.#over = true;
        throw failure;
      }
    }
  }

  #receive(data: Uint8Array): void {
    if (this.#over) return;
    const { address } = this.#options;
    if (data.length === 0) throw new BusError(`${address} has no more events`);
    this.#begun.push(data);
    this.#begunBytes += data.length;
    if (this.#begunBytes > MAX_LINE_BYTES) throw new BusError(`${address} sent a line that does not end: it is no bus`);
    if (data.at(-1) !== NEWLINE) return;
    const line = concatenated(this.#begun);
    this.#begun = [];
    this.#begunBytes = 0;
    const { id, time, topic, payload_base64, via } = recordOf(line, ["id", "time", "topic", "payload_base64"], address);
    if (this.#seen.has(id)) return;
    const payload = payloadOf(payload_base64, address);
    this.#put({ id, time, topic, payload, ...isVia(via) ? { via } : {} }, payload.length);
  }

  #put(arrived: BusEvent | UnreadableEventError | GapError, bytes: number): void {
    this.#aheadBytes += bytes + EVENT_BYTES;
    this.#ahead.push(arrived);
    this.wake();
  }

  protected take(): BusEvent | undefined {
    const next = this.#ahead.shift();
    if (next === undefined) return undefined;
    this.#aheadBytes -= (next instanceof Error ? 0 : next.payload.length) + EVENT_BYTES;
    if (this.#aheadBytes <= MAX_AHEAD_BYTES) {
      this.#hasRoom.resolve();
      this.#hasRoom = Promise.withResolvers();
    }
    if (next instanceof Error) throw next;
    return next;
  }

  protected release(): void {
    this.#over = true;
    this.#ended.resolve();
    this.#hasRoom.resolve();
    this.#ahead.clear();
    this.#options.release();
  }
}
