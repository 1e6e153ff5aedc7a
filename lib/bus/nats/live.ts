/**
 * What is published on a server that keeps nothing, for all the subscriptions of a bus that it has what they want for. Each of them
 * has a queue of its own.
 *
 * @module
 */
import { BusError } from "../../bus.ts";
import { increasing, systemClock } from "../../time.ts";
import type { QueuedSubscription } from "../queued_subscription.ts";
import { Audience } from "./audience.ts";
import { missed } from "./gap.ts";
import { type Link, type LinkUser, reasonOf } from "./link.ts";
import { readLiveMessage } from "./message.ts";
import { subjectsOf } from "./subject.ts";

/** The events of a server that match some filters, as they come. */
export class LiveFeed implements LinkUser {
  /** Resolves when nothing that is published from then on can be missed. */
  readonly started: Promise<void>;
  /** Who reads it. */
  readonly audience: Audience<QueuedSubscription>;
  readonly #link: Link;
  readonly #onEnd: () => void;
  readonly #clock = increasing(systemClock);
  readonly #sources: readonly { unsubscribe(): void }[];
  #ended = false;

  /**
   * Begins.
   *
   * @param link where the server is
   * @param prefix what the bus is below
   * @param filters what is wanted
   * @param onEnd is called once, when it has ended
   */
  constructor(link: Link, prefix: string, filters: readonly string[], onEnd: () => void) {
    this.#link = link;
    this.audience = new Audience(filters);
    this.#onEnd = onEnd;
    link.add(this);
    this.#sources = subjectsOf(prefix, filters).map((subject) =>
      link.connection.subscribe(subject, {
        callback: (error, message) => {
          if (error !== null) return this.lost(new BusError(`${link.shown} gives no events: ${reasonOf(error)}`));
          const event = readLiveMessage(prefix, message, this.#clock);
          for (const reader of this.audience.match(event.topic)) reader.deliver(event);
        },
      })
    );
    this.started = this.#start();
    this.started.catch(() => {});
  }

  /** Removes somebody who reads it. With the last one, it ends. */
  leave(reader: QueuedSubscription, filters: readonly string[]): void {
    if (this.audience.delete(reader, filters) && this.audience.isEmpty) this.#end();
  }

  down(): void {}

  /** The client has subscribed again; what was published in between is lost. */
  up(): void {
    const gap = missed(this.#link.shown);
    for (const reader of this.audience) reader.deliver(gap);
  }

  lost(error: BusError): void {
    for (const reader of this.audience) reader.fail(error);
    this.#end();
  }

  async #start(): Promise<void> {
    for (;;) {
      try {
        // The server takes what is said to it in order, so that it has subscribed when it answers.
        return await this.#link.connection.flush();
      } catch (error) {
        if (this.#ended || this.#link.connection.isClosed()) throw error;
      }
    }
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#link.delete(this);
    if (!this.#link.connection.isClosed()) this.#sources.forEach((source) => source.unsubscribe());
    this.#onEnd();
  }
}
