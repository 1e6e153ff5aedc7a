/**
 * What a link has read from its source and is not done with: it is published in order, several events at a time, and done with in
 * order. A target that is away is tried again for as long as it takes.
 *
 * @module
 */
import { BusError, RefusedEventError } from "../bus.ts";
import { type BusEvent, TopicError } from "../event.ts";
import { EVENT_BYTES } from "../bus/subscription.ts";
import type { Timer } from "../time.ts";

/** How many events may be under way, and how many bytes, each event counted as its payload and some more. */
const MAX_EVENTS = 1000;
const MAX_BYTES = 2 * 1024 * 1024;

/** How long to wait before a target that has failed is tried again, in milliseconds, at first and at most. */
const RETRY_MS = 100;
const MAX_RETRY_MS = 5000;

/** How long a target may say nothing before somebody is told, in milliseconds: some buses wait without a word until a server is back. */
const SILENCE_MS = 5000;

/** What {@linkcode Transfers} need of their link. */
export interface TransfersOptions {
  /** What the target is called in messages. */
  readonly target: string;
  /** Publishes an event, if it is to be published. */
  readonly publish: (event: BusEvent) => Promise<unknown>;
  /** Takes what somebody should know, as sentences. */
  readonly log: (message: string) => void;
  /** No more are to be added once it is aborted. */
  readonly signal: AbortSignal;
  /** Is called when something went wrong that is neither the target's doing nor the event's. */
  readonly failed: (error: unknown) => void;
}

/** Something that has been read. */
interface Transfer {
  /** What is to be published, if anything is. */
  readonly event: BusEvent | undefined;
  readonly done: () => void;
  state: "waiting" | "begun" | "done";
}

/** Events on their way. */
export class Transfers {
  readonly #options: TransfersOptions;
  /** In order: few enough for an array. */
  readonly #transfers: Transfer[] = [];
  #bytes = 0;
  /** How many are begun. */
  #begun = 0;
  /** Whether the target takes events, says nothing, or has failed. */
  #target: "there" | "silent" | "failing" = "there";
  /** When it was heard of last, or was first asked since, on the clock of `performance.now()`. */
  #heardAt = 0;
  #retryMs = RETRY_MS;
  #retryTimer: Timer | undefined;
  #silenceTimer: Timer | undefined;
  #changed = Promise.withResolvers<void>();
  #isClosed = false;

  /** @param options what they need of their link */
  constructor(options: TransfersOptions) {
    this.#options = options;
    options.signal.addEventListener("abort", () => this.#change(), { once: true });
  }

  /** Waits until there is room for one more, or until no more are to be added. */
  async room(): Promise<void> {
    while (!this.#options.signal.aborted && !this.#isClosed && !this.#hasRoom) await this.#changed.promise;
  }

  /** What is too large by itself has room where there is nothing else. */
  get #hasRoom(): boolean {
    return this.#transfers.length === 0 || (this.#transfers.length < MAX_EVENTS && this.#bytes < MAX_BYTES);
  }

  /**
   * Adds something that has been read.
   *
   * @param event what is to be published; `undefined` if nothing is
   * @param done is called when it is done with, as are all before it
   */
  add(event: BusEvent | undefined, done: () => void): void {
    const transfer: Transfer = { event, done, state: event === undefined ? "done" : "waiting" };
    this.#transfers.push(transfer);
    this.#bytes += bytesOf(transfer);
    if (event === undefined) this.#finish();
    else if (this.#target !== "failing") this.#begin(transfer);
  }

  /** Waits until all are done with, or until they are closed. */
  async settled(): Promise<void> {
    while (!this.#isClosed && this.#transfers.length > 0) await this.#changed.promise;
  }

  /** Gives up those that are not done with. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#silenceTimer);
    this.#change();
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  #begin(transfer: Transfer): void {
    if (transfer.event === undefined) return;
    transfer.state = "begun";
    if (this.#begun++ === 0) this.#heardAt = performance.now();
    this.#silenceTimer ??= setTimeout(() => this.#listen(), SILENCE_MS);
    this.#transfer(transfer, transfer.event).catch(this.#options.failed);
  }

  async #transfer(transfer: Transfer, event: BusEvent): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    try {
      await this.#options.publish(event);
    } catch (error) {
      failure = { error };
    }
    this.#begun--;
    if (this.#isClosed) return;
    if (failure === undefined) this.#taken(transfer);
    else this.#failed(transfer, event, failure.error);
  }

  #taken(transfer: Transfer): void {
    transfer.state = "done";
    this.#heardAt = performance.now();
    this.#finish();
    if (this.#target === "there") return;
    this.#options.log(`${this.#options.target} is back`);
    this.#target = "there";
    this.#retryMs = RETRY_MS;
    for (const waiting of this.#transfers.filter(isWaiting)) this.#begin(waiting);
  }

  #failed(transfer: Transfer, { id }: BusEvent, error: unknown): void {
    if (error instanceof RefusedEventError || error instanceof TopicError) {
      this.#options.log(`the event ${JSON.stringify(id)} is not copied: ${error.message}`);
      return this.#taken(transfer);
    }
    if (!(error instanceof BusError)) throw error;
    transfer.state = "waiting";
    if (this.#target === "there") this.#options.log(`${error.message}; it is tried again until it works`);
    this.#target = "failing";
    // Only when it is known what has become of those that were begun after it, all that are left can follow in order.
    if (this.#begun > 0) return;
    this.#retryTimer = setTimeout(() => this.#retry(), this.#retryMs * (0.5 + Math.random() / 2));
    this.#retryMs = Math.min(MAX_RETRY_MS, this.#retryMs * 2);
  }

  /** Tries one. When it is taken, the others follow. */
  #retry(): void {
    const first = this.#transfers.find(isWaiting);
    if (first !== undefined) this.#begin(first);
  }

  /** Looks whether the target has said anything for long. */
  #listen(): void {
    this.#silenceTimer = undefined;
    if (this.#begun === 0) return;
    const quietMs = performance.now() - this.#heardAt;
    if (quietMs >= SILENCE_MS && this.#target === "there") {
      this.#target = "silent";
      this.#options.log(`${this.#options.target} does not answer; what is to be copied waits`);
    }
    this.#silenceTimer = setTimeout(() => this.#listen(), Math.max(SILENCE_MS - quietMs, SILENCE_MS / 10));
  }

  /** Finishes with those at the head that are done with. */
  #finish(): void {
    for (let first; (first = this.#transfers[0])?.state === "done";) {
      this.#transfers.shift();
      this.#bytes -= bytesOf(first);
      try {
        first.done();
      } catch (error) {
        this.#options.failed(error);
      }
    }
    this.#change();
  }
}

function isWaiting({ state }: Transfer): boolean {
  return state === "waiting";
}

function bytesOf({ event }: Transfer): number {
  return (event?.payload.length ?? 0) + EVENT_BYTES;
}
