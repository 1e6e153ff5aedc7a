/**
 * What every carrier's subscription does alike: it answers those who wait in the order in which they came, and ends on
 * request, by a signal, or with an error. A carrier only says what comes next.
 *
 * @module
 */
import type { Position, Subscription } from "../bus.ts";
import type { BusEvent } from "../event.ts";

/** About what an event that waits takes besides its payload. */
export const EVENT_BYTES = 256;

interface Reader {
  resolve(result: IteratorResult<BusEvent, undefined>): void;
  reject(error: unknown): void;
}

/** A subscription that is read by pulling: an event is taken from the carrier when somebody wants it, not before. */
export abstract class PulledSubscription implements Subscription {
  /** How it began, once it has or could not. */
  #beginning: { readonly position: Position | undefined } | { readonly error: unknown } | undefined;
  /** Made for whoever asks: there may be tens of thousands of subscriptions, and few of them are asked. */
  #ready: PromiseWithResolvers<Position | undefined> | undefined;
  #waiting: Reader[] = [];
  #ended = false;
  #failure: { readonly error: unknown } | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #abort: (() => void) | undefined;

  /** @param signal ends the subscription; a carrier whose signal is aborted already calls {@linkcode end} itself */
  constructor(signal: AbortSignal | undefined) {
    if (signal === undefined) return;
    this.#signal = signal;
    this.#abort = () => this.end();
    signal.addEventListener("abort", this.#abort, { once: true });
  }

  get ready(): Promise<Position | undefined> {
    if (this.#ready === undefined) {
      this.#ready = Promise.withResolvers();
      // Whoever only looks at it is told by next().
      this.#ready.promise.catch(() => {});
      this.#announce();
    }
    return this.#ready.promise;
  }

  /** Settles {@linkcode ready}, once there is something to tell and somebody to be told. */
  #announce(): void {
    if (this.#beginning === undefined) return;
    if ("error" in this.#beginning) this.#ready?.reject(this.#beginning.error);
    else this.#ready?.resolve(this.#beginning.position);
  }

  /**
   * The next event, or `undefined` while there is none. It may throw: that is the answer to one reader, and the one after
   * takes again.
   */
  protected abstract take(): BusEvent | undefined;

  /** Gives back what the subscription held of its carrier. Called once, when it ends. */
  protected abstract release(): void;

  /** Resolves {@linkcode ready}. */
  protected begun(position?: Position): void {
    this.#beginning ??= { position };
    this.#announce();
    this.wake();
  }

  get caughtUp(): boolean | undefined {
    return this.#waiting.length > 0 && this.#beginning !== undefined;
  }

  next(): Promise<IteratorResult<BusEvent, undefined>> {
    // Where there is a backlog, nobody ever waits, and nothing need be made to be waited with.
    if (this.#waiting.length === 0 && !this.#ended) {
      try {
        const value = this.take();
        if (value !== undefined) return Promise.resolve({ done: false, value });
      } catch (error) {
        return Promise.reject(error);
      }
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.wake();
    });
  }

  /** Answers those who wait, as far as there are events. The carrier calls it when there may be more. */
  wake(): void {
    for (let reader; (reader = this.#waiting.shift()) !== undefined;) {
      try {
        const value = this.#ended ? undefined : this.take();
        if (value !== undefined) {
          reader.resolve({ done: false, value });
        } else if (this.#failure !== undefined) {
          reader.reject(this.#failure.error);
          this.end();
        } else if (this.#ended) {
          reader.resolve({ done: true, value: undefined });
        } else {
          this.#waiting.unshift(reader);
          return;
        }
      } catch (error) {
        reader.reject(error);
      }
    }
  }

  /** Ends the subscription with an error, which the reader is told of after what can still be taken. */
  fail(error: unknown): void {
    if (this.#ended || this.#failure !== undefined) return;
    this.#failure = { error };
    this.#beginning ??= { error };
    this.#announce();
    this.wake();
  }

  /** Ends the subscription. Those who wait are told that there are no more. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = undefined;
    this.#beginning ??= { position: undefined };
    this.#announce();
    if (this.#abort !== undefined) this.#signal?.removeEventListener("abort", this.#abort);
    this.release();
    this.wake();
  }

  return(): Promise<IteratorResult<BusEvent, undefined>> {
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
