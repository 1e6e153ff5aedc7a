/**
 * What a client has published and the hub has not acknowledged: it is kept, in order, until that has come, and sent again on the
 * next connection if this one ends before.
 *
 * @module
 */
import { BusError, type Published, RefusedEventError } from "../../bus.ts";

/**
 * How many bytes may be on their way to the hub without an answer. They are all that a socket is ever handed at once, and so
 * its `bufferedAmount` stays below that; and a hub whose bus is slow is not flooded.
 */
const WINDOW_BYTES = 256 * 1024;

const utf8 = new TextEncoder();

/** An event that has not been acknowledged. */
interface Unacknowledged {
  readonly topic: string;
  readonly frame: string;
  readonly bytes: number;
  resolve(published: Published): void;
  reject(error: BusError): void;
}

/** Events on their way to a hub. */
export class PublishQueue {
  readonly #hub: string;
  readonly #maxBytes: number;
  /** By their number, which is the `ref` that the hub answers with, and in this order. */
  readonly #events = new Map<number, Unacknowledged>();
  #last = 0;
  /** The first that has not been sent on this connection. */
  #unsent = 1;
  #bytes = 0;
  #sentBytes = 0;
  #oneByOne = false;
  #drained: PromiseWithResolvers<void> | undefined;

  /**
   * @param hub what the hub is called in errors
   * @param maxBytes how many bytes of frames may wait
   */
  constructor(hub: string, maxBytes: number) {
    this.#hub = hub;
    this.#maxBytes = maxBytes;
  }

  /** How many wait. */
  get size(): number {
    return this.#events.size;
  }

  /** Resolves when none waits. */
  get drained(): Promise<void> {
    if (this.size === 0) return Promise.resolve();
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }

  /**
   * Adds an event.
   *
   * @param topic its topic, for errors
   * @param envelope it, as an envelope
   * @returns what the bus gave it, once the hub has acknowledged it
   * @throws {BusError} if there is no room for it
   */
  add(topic: string, envelope: string): Promise<Published> {
    const ref = this.#last + 1;
    // Last, where a hub looks for it even if it does not read what is too large.
    const frame = `${envelope.slice(0, -1)},"ref":${ref}}`;
    const bytes = utf8.encode(frame).length;
    if (bytes > this.#maxBytes) {
      throw new RefusedEventError(
        `the event ${
          JSON.stringify(topic)
        } is ${bytes} bytes long: at most ${this.#maxBytes} may wait for ${this.#hub} ` +
          `(maxQueueBytes)`,
      );
    }
    if (this.#bytes + bytes > this.#maxBytes) {
      throw new BusError(
        `there is no room for the event ${
          JSON.stringify(topic)
        }: ${this.size} events (${this.#bytes} bytes) wait for ` +
          `${this.#hub} already, and at most ${this.#maxBytes} bytes may (maxQueueBytes)`,
      );
    }
    this.#last = ref;
    this.#bytes += bytes;
    const { promise, resolve, reject } = Promise.withResolvers<Published>();
    this.#events.set(ref, { topic, frame, bytes, resolve, reject });
    return promise;
  }

  /** Sends as much as may be on its way. */
  flush(send: (frame: string) => void): void {
    for (; this.#unsent <= this.#last; this.#unsent++) {
      const event = this.#events.get(this.#unsent);
      if (event === undefined) continue;
      if (this.#sentBytes > 0 && (this.#oneByOne || this.#sentBytes + event.bytes > WINDOW_BYTES)) return;
      this.#sentBytes += event.bytes;
      send(event.frame);
    }
  }

  /**
   * The hub has answered.
   *
   * @param ref what it answers to
   * @param answer what the bus gave the event, or why it was refused
   * @returns whether that was an event of this queue
   */
  answered(ref: unknown, answer: Published | BusError): boolean {
    if (typeof ref !== "number" || ref >= this.#unsent) return false;
    const event = this.#events.get(ref);
    if (event === undefined) return false;
    this.#sentBytes -= event.bytes;
    this.#remove(ref, event);
    if (answer instanceof BusError) event.reject(answer);
    else event.resolve(answer);
    return true;
  }

  /**
   * The connection has ended: what has not been acknowledged is to be sent again.
   *
   * @param wasTooLarge whether it ended because of what had been sent last. Which event that was, is found by sending one at a time
   */
  reset(wasTooLarge: boolean): void {
    const [first] = this.#events.keys();
    const event = this.#events.get(first);
    if (event !== undefined && wasTooLarge && this.#sentBytes === event.bytes) {
      this.#remove(first, event);
      event.reject(
        new RefusedEventError(
          `${this.#hub} takes no event as large as this one: ${JSON.stringify(event.topic)}, ${event.bytes} bytes`,
        ),
      );
    }
    this.#oneByOne ||= wasTooLarge;
    this.#sentBytes = 0;
    const [next = this.#last + 1] = this.#events.keys();
    this.#unsent = next;
  }

  /** Gives all of them up. */
  fail(error: BusError): void {
    for (const [ref, event] of this.#events) {
      this.#remove(ref, event);
      event.reject(error);
    }
  }

  #remove(ref: number, event: Unacknowledged): void {
    this.#events.delete(ref);
    this.#bytes -= event.bytes;
    if (this.size > 0) return;
    this.#oneByOne = false;
    this.#drained?.resolve();
    this.#drained = undefined;
  }
}
