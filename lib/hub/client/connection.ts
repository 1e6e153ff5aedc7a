/**
 * One WebSocket to a hub, from the attempt to connect to its end, which comes once, whatever brings it about: the hub, the
 * network, or that nothing has been heard for too long. A network that goes away tells nobody, so the hub is asked, with a
 * `__ping`, whether it is still there.
 *
 * @module
 */
import { messageOf } from "../../thrown.ts";
import type { Timer } from "../../time.ts";
import { BATCH_PROTOCOL, TOKEN_PROTOCOL_PREFIX } from "../protocol.ts";
import type { HubAddress } from "./address.ts";

/** How long a connection waits for what, in milliseconds. */
export interface ConnectionTiming {
  /** For the connection to be made. */
  readonly connectMs: number;
  /** For anything to come, before the hub is asked whether it is there. */
  readonly idleMs: number;
  /** For the answer to that. */
  readonly answerMs: number;
}

/** What a connection tells of. */
export interface ConnectionHandlers {
  /** It has been made. */
  opened(): void;
  /** An envelope has come. */
  received(text: string): void;
  /** It has ended, or could not be made. Called once, and last; not if {@linkcode ClientConnection.close} has ended it. */
  ended(ending: Ending): void;
}

/** How a connection ended. */
export interface Ending {
  /** Whether it had been made. */
  readonly opened: boolean;
  /** Why, in words that can follow a colon. */
  readonly reason: string;
  /** The code that the hub ended it with, if it did. */
  readonly code?: number;
  /** The status that the hub's HTTP server refused it with, as far as the platform tells. */
  readonly status?: number;
}

/** How long to wait for the other side to end the connection, too, in milliseconds. */
const CLOSE_MS = 2000;
const NORMAL_CLOSURE = 1000;
const CONNECTING = 0;

/** One connection. */
export class ClientConnection {
  readonly #handlers: ConnectionHandlers;
  readonly #timing: ConnectionTiming;
  readonly #closed = Promise.withResolvers<void>();
  #socket: WebSocket | undefined;
  #timer: Timer;
  #opened = false;
  #ended = false;
  #heardAt = 0;
  #pinged = false;

  /**
   * Begins to connect.
   *
   * @param address where to
   * @param handlers what to tell whom, never before this has returned
   * @param timing how long to wait
   */
  constructor({ url, token }: HubAddress, handlers: ConnectionHandlers, timing: ConnectionTiming) {
    this.#handlers = handlers;
    this.#timing = timing;
    this.#timer = setTimeout(() => this.#end(`it did not answer within ${timing.connectMs} ms`), timing.connectMs);
    const protocols = token === undefined ? [BATCH_PROTOCOL] : [BATCH_PROTOCOL, `${TOKEN_PROTOCOL_PREFIX}${token}`];
    try {
      this.#socket = new WebSocket(url, protocols);
    } catch (error) {
      // Such as a permission that is not there.
      queueMicrotask(() => this.#end(messageOf(error)));
      return;
    }
    this.#socket.addEventListener("open", () => this.#open());
    this.#socket.addEventListener("message", ({ data }) => this.#receive(data));
    // Not every platform has a "close" follow that.
    this.#socket.addEventListener("error", (event) => {
      this.#closed.resolve();
      this.#end(...failureOf(event));
    });
    this.#socket.addEventListener("close", ({ code, reason }) => {
      this.#closed.resolve();
      this.#end(reason === "" ? "the connection ended" : reason, { code });
    });
  }

  /** Whether it is there. */
  get isOpen(): boolean {
    return this.#opened && !this.#ended;
  }

  /** Sends a frame. What can no longer be sent is dropped: the end of the connection is about to be told. */
  send(text: string): void {
    if (this.isOpen && this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  /** Ends it. Resolves when the hub has agreed, or has been given the time to. */
  async close(): Promise<void> {
    const waits = this.#opened && !this.#ended;
    this.#stop();
    if (!waits) return;
    let timer: Timer;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, CLOSE_MS));
    await Promise.race([this.#closed.promise, late]).finally(() => clearTimeout(timer));
  }

  /** Ends it for a reason, which is told as if the hub had given it. */
  fail(reason: string): void {
    this.#end(reason);
  }

  #open(): void {
    if (this.#ended) return;
    this.#opened = true;
    clearTimeout(this.#timer);
    this.#heardAt = performance.now();
    this.#watch(this.#timing.idleMs);
    this.#handlers.opened();
  }

  #receive(data: unknown): void {
    if (this.#ended) return;
    this.#heardAt = performance.now();
    this.#pinged = false;
    if (typeof data !== "string") return this.#end("it sent a frame that is not text: it is no hub");
    if (this.#socket?.protocol !== BATCH_PROTOCOL) return this.#handlers.received(data);
    for (const line of data.split("\n")) {
      // One line may end the connection; what follows it will come again.
      if (this.#ended) return;
      this.#handlers.received(line);
    }
  }

  /** Looks, after a while, whether anything has come. */
  #watch(ms: number): void {
    this.#timer = setTimeout(() => {
      const { idleMs, answerMs } = this.#timing;
      const quietMs = performance.now() - this.#heardAt;
      if (this.#pinged) return this.#end(`nothing has come from it for ${Math.round(quietMs)} ms`);
      if (quietMs < idleMs) return this.#watch(idleMs - quietMs);
      this.#pinged = true;
      this.send('{"type":"__ping","id":"","payload":null}');
      this.#watch(answerMs);
    }, ms);
  }

  #end(reason: string, more: Pick<Ending, "code" | "status"> = {}): void {
    if (this.#ended) return;
    const opened = this.#opened;
    this.#stop();
    this.#handlers.ended({ opened, reason, ...more });
  }

  /** A socket whose peer is gone may stay for a long time; nobody listens to it any more. */
  #stop(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    try {
      if (this.#socket?.readyState === CONNECTING) this.#socket.close();
      else this.#socket?.close(NORMAL_CLOSURE);
    } catch {
      // It has ended by itself.
    }
  }
}

/** What an event of the type `error` tells: nothing in a browser, a message elsewhere, and in that the status here and there. */
function failureOf(event: Event): [reason: string, more: Pick<Ending, "status">] {
  const message = "message" in event && typeof event.message === "string" ? event.message : "";
  const [, status] = /status code: (\d{3})\b/.exec(message) ?? [];
  // All but the last part says that this is about a WebSocket.
  const reason = message.replace(/^.*(?:failed to connect to WebSocket|' failed): /s, "") || "the connection failed";
  return [reason, status === undefined ? {} : { status: Number(status) }];
}
