/**
 * What has been published and is not known to have arrived. It is sent again when a connection has ended in between, and a stream
 * that has it already says so; without a stream, an event may then be there twice.
 *
 * @module
 */
import { BusError, type Published, type PublishOptions, RefusedEventError } from "../../bus.ts";
import { type Clock, formatTime, increasing, systemClock } from "../../time.ts";
import type { Msg } from "./library.ts";
import { type Link, reasonOf } from "./link.ts";
import { headerBytes, headersOf, idOf, repeatableMark } from "./mark.ts";
import type { Stream } from "./stream.ts";

/** How long an event may wait before its publisher is told that nothing is known of it, in milliseconds. */
const PATIENCE_MS = 120_000;
/** How long an acknowledgement may take before the event is sent once more, in milliseconds. */
const RESEND_MS = 5000;
/** How often it is looked for what has waited too long, in milliseconds. */
const LOOK_MS = 250;
/** About what an event that waits takes besides its payload. */
const WAITING_BYTES = 256;

/** JetStream's own error for a cluster that has yet to agree on who leads. */
const NOT_AVAILABLE = 10_008;

/** And for an event that is longer than the stream takes. */
const TOO_LONG = 10_054;

/** An event that waits. */
interface Waiting {
  readonly subject: string;
  readonly headers: Uint8Array;
  readonly payload: Uint8Array;
  readonly id: string;
  readonly time: string;
  /** For how many looks it has waited. */
  looks: number;
  /** For how many of them since it was sent first, and last; `undefined` if it was not. */
  first: number | undefined;
  last: number | undefined;
  resolve(published: Published): void;
  reject(error: BusError): void;
}

/** What a stream answers. */
interface Answer {
  readonly seq?: number;
  readonly duplicate?: boolean;
  readonly error?: { readonly err_code?: number; readonly description?: string };
}

/** Publishes, and waits until that is known to have been done. */
export class Outbox {
  readonly #link: Link;
  readonly #stream: Stream | undefined;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  /** What tells this publisher from others. */
  readonly #name = randomName();
  readonly #inbox: string;
  readonly #waiting = new Map<number, Waiting>();
  #bytes = 0;
  #count = 0;
  #timer: ReturnType<typeof setInterval> | undefined;
  #isFlushing = false;
  #settled = Promise.withResolvers<void>();
  /** The last of this stream's events that is known to be there. */
  #last: { readonly sequence: number; readonly time: string } | undefined;

  /**
   * @param link where to
   * @param stream what acknowledges it; a server alone does not, but it answers what comes after it
   * @param maxBytes how many bytes may wait, each event counted as its payload and 256 bytes
   * @param clock tells the time
   */
  constructor(link: Link, stream: Stream | undefined, maxBytes: number, clock: Clock = systemClock) {
    this.#link = link;
    this.#stream = stream;
    this.#maxBytes = maxBytes;
    this.#clock = increasing(clock);
    this.#inbox = `_INBOX.${this.#name}.`;
    if (stream !== undefined) {
      link.connection.subscribe(`${this.#inbox}*`, {
        callback: (error, message) => error === null ? this.#answered(message) : this.#fail(this.#refused(error)),
      });
    }
    link.add({
      down: () => {},
      up: () => this.#sendAll(),
      lost: (error) => this.#fail(error),
    });
  }

  /** The last event that a stream has acknowledged. */
  get last(): { readonly sequence: number; readonly time: string } | undefined {
    return this.#last;
  }

  /**
   * Publishes.
   *
   * @throws {RefusedEventError} if it is too long
   * @throws {BusError} if it is refused, or too much waits, or it has waited too long
   */
  publish(subject: string, payload: Uint8Array, { via, deduplicationId }: PublishOptions = {}): Promise<Published> {
    const { maxPayload, shown } = this.#link;
    const time = formatTime(this.#clock());
    const id = `${time}-${this.#name}`;
    const isRepeatable = this.#stream !== undefined && deduplicationId !== undefined;
    const headers = headerBytes(isRepeatable ? repeatableMark(deduplicationId) : id, via);
    if (payload.length + headers.length > maxPayload) {
      throw new RefusedEventError(
        `the event has ${payload.length} bytes: ${shown} takes at most ${maxPayload}, of which ${headers.length} are for what ` +
          "the event is known by",
      );
    }
    const bytes = payload.length + WAITING_BYTES;
    if (this.#waiting.size > 0 && this.#bytes + bytes > this.#maxBytes) {
      throw new BusError(
        `${this.#waiting.size} events (${this.#bytes} bytes) wait for ${shown} to acknowledge them, and no more find room`,
      );
    }
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        subject,
        headers,
        payload,
        id,
        time,
        looks: 0,
        first: undefined,
        last: undefined,
        resolve,
        reject,
      };
      const token = ++this.#count;
      this.#waiting.set(token, waiting);
      this.#bytes += bytes;
      this.#timer ??= setInterval(() => this.#look(), LOOK_MS);
      if (this.#link.isUp) this.#send(token, waiting);
    });
  }

  /** Resolves when nothing waits. */
  async settled(): Promise<void> {
    if (this.#waiting.size > 0) await this.#settled.promise;
  }

  /** Gives up what waits. */
  close(): void {
    this.#fail(new BusError(`the bus at ${this.#link.shown} was closed before it had acknowledged the event`));
  }

  #send(token: number, waiting: Waiting): void {
    waiting.first ??= 0;
    waiting.last = 0;
    const { subject, headers, payload } = waiting;
    const reply = this.#stream === undefined ? undefined : `${this.#inbox}${token}`;
    try {
      this.#link.connection.publish(subject, payload, { headers: headersOf(headers), reply });
    } catch (error) {
      const failed = new BusError(`cannot publish to ${this.#link.shown}: ${reasonOf(error)}`, { cause: error });
      return this.#settle(token, waiting, failed);
    }
    if (this.#stream === undefined && !this.#isFlushing) {
      this.#isFlushing = true;
      queueMicrotask(() => this.#flush());
    }
  }

  #sendAll(): void {
    for (const [token, waiting] of this.#waiting) this.#send(token, waiting);
  }

  /** Asks the server for an answer: it has all that was sent before, then. */
  async #flush(): Promise<void> {
    this.#isFlushing = false;
    const last = this.#count;
    try {
      await this.#link.connection.flush();
    } catch {
      // It is sent again when there is a connection.
      return;
    }
    for (const [token, waiting] of this.#waiting) {
      if (token > last) return;
      if (waiting.last !== undefined) this.#settle(token, waiting, { id: waiting.id, time: waiting.time });
    }
  }

  #answered(message: Msg): void {
    const token = Number(message.subject.slice(this.#inbox.length));
    const waiting = this.#waiting.get(token);
    // Sent twice, it is answered twice.
    if (waiting === undefined) return;
    const { seq, duplicate = false, error } = answerIn(message);
    // Nobody listens there: the server has just been started, or the stream has no leader. It is sent again soon.
    if (message.headers?.code === 503 || error?.err_code === NOT_AVAILABLE) {
      waiting.last = undefined;
    } else if (error !== undefined || typeof seq !== "number") {
      const reason = error?.description ?? "its answer is not that of a stream";
      const kind = error?.err_code === TOO_LONG ? RefusedEventError : BusError;
      this.#settle(token, waiting, new kind(`${this.#link.shown} did not take the event: ${reason}`));
    } else if (!duplicate && seq <= (this.#last?.sequence ?? 0)) {
      // It counts anew, so it is another stream, with another mark.
      this.#last = undefined;
      this.#stream?.info().catch(() => {}).finally(() => this.#acknowledged(token, waiting, seq));
    } else {
      this.#acknowledged(token, waiting, seq);
    }
  }

  #acknowledged(token: number, waiting: Waiting, sequence: number): void {
    if (this.#stream === undefined) return;
    const { time } = waiting;
    if (sequence > (this.#last?.sequence ?? 0)) this.#last = { sequence, time };
    this.#settle(token, waiting, { id: idOf(sequence, this.#stream.mark), time });
  }

  /** Sends again what has been sent long ago, and gives up what has waited too long. */
  #look(): void {
    const patience = Math.min(PATIENCE_MS, this.#stream?.duplicateWindowMs ?? Infinity);
    for (const [token, waiting] of this.#waiting) {
      waiting.looks++;
      if (waiting.first !== undefined) waiting.first++;
      if (waiting.last !== undefined) waiting.last++;
      if (waiting.looks * LOOK_MS >= PATIENCE_MS || (waiting.first ?? 0) * LOOK_MS >= patience) {
        this.#settle(token, waiting, this.#tooLate(waiting));
      } else if (this.#link.isUp && this.#stream !== undefined && (waiting.last ?? Infinity) * LOOK_MS >= RESEND_MS) {
        this.#send(token, waiting);
      }
    }
  }

  #tooLate({ looks, first }: Waiting): BusError {
    const seconds = Math.ceil(looks * LOOK_MS / 1000);
    const fate = first === undefined ? "it was not sent" : "whether the event is there is not known";
    return new BusError(`${this.#link.shown} has not acknowledged the event in ${seconds} seconds: ${fate}`);
  }

  #settle(token: number, waiting: Waiting, outcome: Published | BusError): void {
    if (!this.#waiting.delete(token)) return;
    this.#bytes -= waiting.payload.length + WAITING_BYTES;
    if (outcome instanceof BusError) waiting.reject(outcome);
    else waiting.resolve(outcome);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#settled.resolve();
    this.#settled = Promise.withResolvers();
  }

  #refused(error: Error): BusError {
    return new BusError(`${this.#link.shown} gives no acknowledgements: ${reasonOf(error)}`, { cause: error });
  }

  #fail(error: BusError): void {
    for (const [token, waiting] of this.#waiting) this.#settle(token, waiting, error);
  }
}

function answerIn(message: Msg): Answer {
  try {
    return JSON.parse(new TextDecoder().decode(message.data));
  } catch {
    return {};
  }
}

/** A name that no other publisher has. */
function randomName(): string {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return ((BigInt(high) << 32n) | BigInt(low)).toString(36);
}
