/**
 * What is new in a stream, for all the subscriptions of a bus that it has what they want for: one consumer at the server, however
 * many they are. It is pushed by the server as fast as it is taken, and kept in memory for a while; a subscription that falls
 * further behind reads from the stream itself, and nobody waits for it.
 *
 * @module
 */
import { BusError } from "../../bus.ts";
import { Audience } from "./audience.ts";
import { removed } from "./gap.ts";
import type { Msg, Subscription } from "./library.ts";
import { type LinkUser, reasonOf } from "./link.ts";
import { readMessage } from "./message.ts";
import { RecentEvents } from "./recent.ts";
import type { Stream, StreamState } from "./stream.ts";

/** How often the server says that it is there, when there is nothing else to say, in milliseconds. */
const HEARTBEAT_MS = 2000;

/** Who reads a feed. */
export interface FeedReader {
  /** There is something for it at a position of what is recent. */
  arrived(position: number): void;
  /** There will be no more. */
  fail(error: unknown): void;
}

/** The newest place that a feed has reached. */
export interface FeedPlace {
  /** All that the feed is for, up to this number in the stream, has come. */
  readonly sequence: number;
  /** When that was published. */
  readonly time: string;
}

/** The new events of a stream that match some filters. */
export class Feed implements LinkUser {
  /** What has come last. */
  recent = new RecentEvents(0);
  /** Resolves when nothing that is published from then on can be missed. */
  readonly started: Promise<void>;
  /** Who reads it. */
  readonly audience: Audience<FeedReader>;
  readonly #stream: Stream;
  readonly #onEnd: () => void;
  #place: FeedPlace = { sequence: 0, time: "" };
  /** Counts the consumers: what comes from another than the last is of no interest. */
  #run = 0;
  #consumer: { readonly name: string; readonly inbox: Subscription } | undefined;
  #delivered = 0;
  /** How many the consumer had yet to give when the last one came. */
  #pending = 0;
  #heard = true;
  #timer: ReturnType<typeof setInterval> | undefined;
  #isChecking = false;
  #ended = false;

  /**
   * Begins.
   *
   * @param stream of which
   * @param filters what is wanted
   * @param onEnd is called once, when it has ended
   */
  constructor(stream: Stream, filters: readonly string[], onEnd: () => void) {
    this.#stream = stream;
    this.audience = new Audience(filters);
    this.#onEnd = onEnd;
    this.started = this.#start();
    this.started.catch(() => {});
  }

  /** The newest place that it has reached. */
  get place(): FeedPlace {
    return this.#place;
  }

  /** Removes somebody who reads it. With the last one, it ends. */
  leave(reader: FeedReader, filters: readonly string[]): void {
    if (this.audience.delete(reader, filters) && this.audience.isEmpty) this.#end();
  }

  down(): void {
    this.#stop();
  }

  up(): void {
    // Until it has started, it goes on trying to.
    if (this.#timer !== undefined) this.#resume();
  }

  lost(error: BusError): void {
    this.#fail(error);
  }

  async #start(): Promise<void> {
    this.#stream.link.add(this);
    try {
      await this.#stream.insist(async () => {
        const run = this.#run;
        const { last, lastTime } = await this.#stream.info();
        this.#place = { sequence: last, time: lastTime };
        this.recent = new RecentEvents(last);
        await this.#consume(run);
        if (run !== this.#run) throw new Error("the connection has ended");
      }, () => !this.#ended);
    } catch (error) {
      this.#fail(error);
      throw error;
    }
    this.#timer = setInterval(() => {
      if (!this.#heard && this.#stream.link.isUp) this.#resume();
      this.#heard = false;
    }, 2 * HEARTBEAT_MS);
    if (this.#ended) clearInterval(this.#timer);
  }

  /** Goes on where it was, with another consumer, as soon as the server gives one. */
  async #resume(): Promise<void> {
    this.#stop();
    const run = this.#run;
    try {
      await this.#stream.insist(async () => {
        const before = this.#stream.mark;
        const state = await this.#stream.info();
        if (run !== this.#run) return;
        if (before !== this.#stream.mark || state.last < this.#place.sequence) throw this.#replaced();
        this.#check(state, this.#place.sequence, Infinity);
        await this.#consume(run);
      }, () => run === this.#run);
    } catch (error) {
      if (run === this.#run) this.#fail(error);
    }
  }

  async #consume(run: number): Promise<void> {
    this.#removeConsumer();
    const stream = this.#stream;
    const name = `ollie-${crypto.randomUUID()}`;
    const inbox = stream.link.connection.subscribe(`_INBOX.${name}`, {
      callback: (error, message) => {
        if (error !== null) this.#fail(new BusError(`${stream.link.shown} gives no events: ${reasonOf(error)}`));
        else if (run === this.#run && name === this.#consumer?.name) this.#receive(message);
      },
    });
    this.#consumer = { name, inbox };
    this.#delivered = 0;
    this.#heard = true;
    // What the stream may have removed since it was asked shows as a jump, as it does while there is more to come.
    this.#pending = 1;
    await stream.manager.consumers.add(stream.name, {
      ...stream.consumer(this.#place.sequence, stream.subjectsOf(this.audience.filters)),
      name,
      deliver_subject: `_INBOX.${name}`,
      flow_control: true,
      idle_heartbeat: HEARTBEAT_MS * 1e6,
    });
  }

  /** Gives up the consumer, and whatever is being done to get another one. */
  #stop(): void {
    this.#run++;
    this.#removeConsumer();
  }

  #removeConsumer(): void {
    const consumer = this.#consumer;
    this.#consumer = undefined;
    if (consumer === undefined) return;
    consumer.inbox.unsubscribe();
    if (this.#stream.link.isUp) this.#stream.removeConsumer(consumer.name);
  }

  #receive(message: Msg): void {
    this.#heard = true;
    const read = readMessage(this.#stream, message);
    if (read === undefined) return this.#control(message);
    const { sequence, delivered, pending, event } = read;
    if (delivered !== this.#delivered + 1) {
      this.#resume();
      return;
    }
    const before = this.#place.sequence;
    // Where there is more to come, and not the next in the stream comes, what lies between may have been removed.
    if (sequence > before + 1 && this.#pending > 0) this.#checkSoon(before, sequence);
    this.#delivered = delivered;
    this.#pending = pending;
    this.#place = { sequence, time: event.time };
    const position = this.recent.push({ sequence, what: { ...event, payload: new Uint8Array(event.payload) } });
    for (const reader of this.audience.match(event.topic)) reader.arrived(position);
  }

  /** What the server says about the consumer: that it is there, and how much it has given; or it asks whether that has come. */
  #control(message: Msg): void {
    if (message.headers?.code !== 100) return;
    if (message.reply) message.respond();
    const stalled = message.headers.get("Nats-Consumer-Stalled");
    if (stalled !== "") this.#stream.link.connection.publish(stalled);
    const given = message.headers.get("Nats-Last-Consumer");
    if (given !== "" && Number(given) !== this.#delivered) this.#resume();
  }

  /** Asks the stream whether it still holds all that lies between two events. The answer may come after what follows. */
  async #checkSoon(after: number, before: number): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      this.#check(await this.#stream.info(), after, before);
    } catch {
      // The server is away; when it is back, it is asked again.
    } finally {
      this.#isChecking = false;
    }
  }

  #check(state: StreamState, after: number, before: number): void {
    const until = Math.min(state.first, before) - 1;
    if (until <= after) return;
    if (until > this.#place.sequence) this.#place = { sequence: until, time: state.firstTime };
    const position = this.recent.push({
      sequence: this.#place.sequence,
      what: removed(this.#stream, { after, until, time: state.firstTime }),
    });
    for (const reader of this.audience) reader.arrived(position);
  }

  #replaced(): BusError {
    const { link, name } = this.#stream;
    return new BusError(
      `the stream ${JSON.stringify(name)} at ${link.shown} has been made anew, and events may have been missed`,
    );
  }

  #fail(error: unknown): void {
    for (const reader of this.audience) reader.fail(error);
    this.#end();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#timer);
    this.#stop();
    this.#stream.link.delete(this);
    this.#onEnd();
  }
}
