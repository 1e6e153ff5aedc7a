/**
 * The next turn of the event loop, as soon as there is one: `setTimeout` would wait a millisecond or two, in which a thousand sockets
 * could have been served.
 *
 * @module
 */

/** After how many events of a subscription that has more at hand others get their turn. */
export const EVENTS_A_TURN = 500;

/** What the platform has, where it has it. */
const platform: { setImmediate?(callback: () => void): unknown } = globalThis as object;

/** Calls back in the next turn. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  /** A message to ourselves comes in the next turn, too. As long as its port is open, a process does not end by itself. */
  #channel: MessageChannel | undefined;

  /**
   * Calls back in the next turn, after those that were to be called before.
   *
   * @param callback what to call
   */
  next(callback: () => void): void {
    if (platform.setImmediate !== undefined) {
      platform.setImmediate(callback);
      return;
    }
    this.#waiting.push(callback);
    if (this.#channel === undefined) {
      this.#channel = new MessageChannel();
      this.#channel.port1.onmessage = () => this.#waiting.shift()?.();
    }
    this.#channel.port2.postMessage(null);
  }

  /** Lets go of what keeps the process from ending. What was to be called is not. */
  close(): void {
    this.#channel?.port1.close();
    this.#channel?.port2.close();
    this.#channel = undefined;
    this.#waiting.length = 0;
  }
}
