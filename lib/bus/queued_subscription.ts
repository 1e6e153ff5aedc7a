/**
 * A subscription to a carrier that keeps nothing: what has not been read yet waits in a queue of its own, and one that lets it
 * overflow is told so.
 *
 * @module
 */
import { type GapError, SlowConsumerError } from "../bus.ts";
import type { BusEvent } from "../event.ts";
import { Queue } from "../queue.ts";
import { EVENT_BYTES, PulledSubscription } from "./subscription.ts";

/** How many bytes may wait for one subscriber, if nobody says otherwise. */
export const MAX_QUEUE_BYTES = 16 * 1024 * 1024;

/** So many that wait are on their way; those beyond are kept. */
const FEW_EVENTS = 1024;

/** What waits, waits in memory. */
export class QueuedSubscription extends PulledSubscription {
  readonly #queue = new Queue<BusEvent | GapError>();
  readonly #maxBytes: number;
  readonly #detach: () => void;
  #bytes = 0;
  #lastId = "";

  /**
   * @param maxBytes how many bytes may wait, each event counted as its payload and 256 bytes
   * @param signal ends it
   * @param detach is called when it is to be told of no more events; it may be called again
   */
  constructor(maxBytes: number, signal: AbortSignal | undefined, detach: () => void) {
    super(signal);
    this.#maxBytes = maxBytes;
    this.#detach = detach;
  }

  /** Takes note that no event can be missed any more. */
  begin(): void {
    this.begun();
  }

  /** Takes an event, or what is to be told in the place of some. */
  deliver(what: BusEvent | GapError): void {
    const bytes = bytesOf(what);
    // What is too large by itself still gets through to a reader that has nothing else to read.
    if (this.#queue.size > 0 && this.#bytes + bytes > this.#maxBytes) {
      this.#detach();
      this.fail(
        new SlowConsumerError(
          `this subscriber read too slowly: ${this.#queue.size} events (${this.#bytes} bytes) were waiting for it, ` +
            `and the one after ${this.#lastId} found no room`,
        ),
      );
      return;
    }
    if (!(what instanceof Error)) this.#lastId = what.id;
    this.#bytes += bytes;
    this.#queue.push(this.#queue.size < FEW_EVENTS ? what : onItsOwn(what));
    this.wake();
  }

  protected take(): BusEvent | undefined {
    const next = this.#queue.shift();
    if (next === undefined) return undefined;
    this.#bytes -= bytesOf(next);
    if (next instanceof Error) throw next;
    return next;
  }

  protected release(): void {
    this.#queue.clear();
    this.#detach();
  }
}

/** The same, with a payload that keeps no more in memory than itself. */
function onItsOwn(what: BusEvent | GapError): BusEvent | GapError {
  if (what instanceof Error || what.payload.buffer.byteLength <= what.payload.length + EVENT_BYTES) return what;
  return { ...what, payload: new Uint8Array(what.payload) };
}

function bytesOf(what: BusEvent | GapError): number {
  return (what instanceof Error ? 0 : what.payload.length) + EVENT_BYTES;
}
