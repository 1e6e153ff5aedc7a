/**
 * A 9P server's files as a bus: `event.json` and `pub.json` of an {@linkcode EventTree}, which carry payloads to the byte.
 *
 * @module
 */
import { type Bus, BusError, type Position, type Published, type SubscribeOptions, type Subscription } from "../bus.ts";
import { concatenated } from "../bytes.ts";
import { type BusEvent, checkTopic } from "../event.ts";
import { filterList } from "../filter.ts";
import { base64, fromBase64 } from "../format.ts";
import { parseNinepAddress } from "../ninep/address.ts";
import { NinepClient, type RemoteFile } from "../ninep/client.ts";
import { NinepError } from "../ninep/error.ts";
import { Queue } from "../queue.ts";
import { PulledSubscription } from "./subscription.ts";

/** How many reads of a subscription wait at the server: enough that it need not wait for the next one to come. */
const READS = 16;
/** How many bytes of events may wait for a subscriber, before the server is asked for no more, and what one takes besides. */
const MAX_AHEAD_BYTES = 1024 * 1024;
const EVENT_BYTES = 256;
const NEWLINE = 10;

const utf8 = new TextEncoder();

/**
 * A bus at a 9P server, over one connection, which is made when it is first needed.
 *
 * A subscription is as good as that of the bus which is served: over a directory it can begin in the past, and a slow
 * subscriber loses nothing. When the connection ends, so do the subscriptions, with an error.
 */
export class NinepBus implements Bus {
  readonly #address: string;
  readonly #subscriptions = new Set<NinepSubscription>();
  #client: Promise<NinepClient> | undefined;
  #pub: Promise<RemoteFile> | undefined;
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
   * @throws {BusError} if the server cannot be reached, or refuses
   */
  async publish(topic: string, payload: Uint8Array | string): Promise<Published> {
    checkTopic(topic);
    const bytes = typeof payload === "string" ? utf8.encode(payload) : payload;
    const line = utf8.encode(`${JSON.stringify({ topic, payload_base64: base64(bytes) })}\n`);
    // One after another: a line that takes several writes must not be mixed with another.
    const publishing = this.#publishing.then(() => this.#publishLine(line));
    this.#publishing = publishing.catch(() => {});
    return await publishing;
  }

  /**
   * Subscribes.
   *
   * @throws {FilterError} if one of the filters is not one
   * @throws {BusError} if the server would take one of the filters for something else, or if `window` asks for the position
   * that `from: "now"` stands for, which a server does not tell
   */
  subscribe(filter: string | readonly string[], { from = "now", window, signal }: SubscribeOptions = {}): Subscription {
    const filters = filterList(filter);
    if (from === "now" && window !== undefined) {
      throw new BusError(
        `${this.#address} does not tell which events there are now: begin with the past, or after one of them`,
      );
    }
    const odd = filters.find((filter) => /\s|^(replay|after|payload)=/.test(filter));
    if (odd !== undefined) {
      throw new BusError(
        `the filter ${JSON.stringify(odd)} cannot be written into event: it would mean something else`,
      );
    }
    const request = [...filters, ...beginningOf(from), "payload=base64"].join(" ");
    const subscription = new NinepSubscription({
      request,
      position: positionOf(from),
      signal,
      release: () => this.#subscriptions.delete(subscription),
    });
    this.#subscriptions.add(subscription);
    if (signal?.aborted) subscription.end();
    else subscription.follow(() => this.#open("event.json"), (error) => this.#asBusError(error));
    return subscription;
  }

  /** Ends every subscription, and the connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const subscription of this.#subscriptions) subscription.end();
    const client = await this.#client?.catch(() => undefined);
    await client?.[Symbol.asyncDispose]();
  }

  async #open(path: string): Promise<RemoteFile> {
    this.#client ??= NinepClient.connect(this.#address);
    try {
      return await (await this.#client).open(path, "readwrite");
    } catch (error) {
      this.#forgetConnection(error);
      throw error;
    }
  }

  /** After anything but a refusal, the next one who needs a connection makes a new one. */
  #forgetConnection(error: unknown): void {
    if (error instanceof NinepError) return;
    this.#client = undefined;
    this.#pub = undefined;
  }

  async #publishLine(line: Uint8Array): Promise<Published> {
    // Asked for together, so that it takes one way there and back; what is refused has nothing to tell.
    const refused = new AbortController();
    try {
      this.#pub ??= this.#open("pub.json");
      const pub = await this.#pub;
      const published = pub.read({ signal: refused.signal });
      await pub.write(line).catch((error) => {
        published.catch(() => {});
        throw error;
      });
      return JSON.parse(new TextDecoder().decode(await published));
    } catch (error) {
      refused.abort();
      this.#forgetConnection(error);
      throw this.#asBusError(error);
    }
  }

  #asBusError(error: unknown): unknown {
    if (!(error instanceof NinepError)) return error;
    return new BusError(`${this.#address}: ${error.message}`, { cause: error });
  }
}

/** Where to begin, in the words that are written into `event`. */
function beginningOf(from: NonNullable<SubscribeOptions["from"]>): string[] {
  if (from === "now") return [];
  if (from === "start") return ["replay=all"];
  return ["after" in from ? `after=${from.after}` : `replay=${from.last}`];
}

/** The place where a subscription begins, as far as whoever asks for it knows it. */
function positionOf(from: NonNullable<SubscribeOptions["from"]>): Position | undefined {
  if (from === "start") return { after: undefined, seen: [] };
  // When that event was published is not known; nothing needs to.
  if (typeof from === "object" && "after" in from) return { after: { id: from.after, time: "" }, seen: [] };
}

/** What a subscription needs of its bus. */
interface NinepSubscriptionOptions {
  /** What is written into `event.json`. */
  readonly request: string;
  /** Where it begins, if that is known. */
  readonly position: Position | undefined;
  /** Ends it. */
  readonly signal: AbortSignal | undefined;
  /** Is called once, when it ends. */
  readonly release: () => void;
}

class NinepSubscription extends PulledSubscription {
  readonly #options: NinepSubscriptionOptions;
  readonly #ahead = new Queue<BusEvent>();
  #aheadBytes = 0;
  #hasRoom = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #over = false;
  /** The pieces of an event that was longer than a read. */
  #begun: Uint8Array[] = [];

  constructor(options: NinepSubscriptionOptions) {
    super(options.signal);
    this.#options = options;
  }

  /** Opens the file, asks for the events, and reads them until the subscription is over. */
  async follow(open: () => Promise<RemoteFile>, asBusError: (error: unknown) => unknown): Promise<void> {
    try {
      await using file = await open();
      await file.write(utf8.encode(this.#options.request));
      // A read of nothing is answered once no event can be missed any more.
      await file.read({ count: 0 });
      this.begun(this.#options.position);
      const reads = Array.from({ length: READS }, () => this.#readAll(file));
      try {
        await Promise.race([Promise.all(reads), this.#ended.promise]);
      } finally {
        this.#over = true;
        // The file is closed now, which ends the reads that wait.
        Promise.allSettled(reads);
      }
    } catch (error) {
      this.fail(asBusError(error));
    }
  }

  async #readAll(file: RemoteFile): Promise<void> {
    while (!this.#over) {
      if (this.#aheadBytes > MAX_AHEAD_BYTES) {
        await this.#hasRoom.promise;
        continue;
      }
      const data = await file.read();
      if (data.length === 0) throw new BusError("the server has no more events");
      this.#receive(data);
    }
  }

  #receive(data: Uint8Array): void {
    this.#begun.push(data);
    if (data.at(-1) !== NEWLINE) return;
    const { id, time, topic, payload_base64 } = JSON.parse(new TextDecoder().decode(concatenated(this.#begun)));
    this.#begun = [];
    const payload = fromBase64(payload_base64);
    this.#aheadBytes += payload.length + EVENT_BYTES;
    this.#ahead.push({ id, time, topic, payload });
    this.wake();
  }

  protected take(): BusEvent | undefined {
    const event = this.#ahead.shift();
    if (event === undefined) return undefined;
    this.#aheadBytes -= event.payload.length + EVENT_BYTES;
    if (this.#aheadBytes <= MAX_AHEAD_BYTES) {
      this.#hasRoom.resolve();
      this.#hasRoom = Promise.withResolvers();
    }
    return event;
  }

  protected release(): void {
    this.#over = true;
    this.#ended.resolve();
    this.#hasRoom.resolve();
    this.#ahead.clear();
    this.#options.release();
  }
}
