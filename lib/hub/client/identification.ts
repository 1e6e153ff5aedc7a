/**
 * Asking a hub which bus it is on. It may be started anew on another one, so it is asked once for each connection.
 *
 * @module
 */
import type { BusError } from "../../bus.ts";

/** What the question has as its `ref`. */
const REF = "identify";

const QUESTION = JSON.stringify({ type: "__identify", id: "", payload: null, ref: REF });

/** The identity of the bus that a client's hub is on. */
export class Identification {
  readonly #send: (envelope: string) => void;
  #isConnected = false;
  /** What has been asked, and perhaps answered. */
  #asked: PromiseWithResolvers<string> | undefined;
  #isAnswered = false;

  /** @param send sends the question, on the connection that there is */
  constructor(send: (envelope: string) => void) {
    this.#send = send;
  }

  /** The identity: from the connection that there is, or from the next one. */
  ask(): Promise<string> {
    if (this.#asked === undefined) {
      this.#asked = Promise.withResolvers();
      this.#isAnswered = false;
      if (this.#isConnected) this.#send(QUESTION);
    }
    return this.#asked.promise;
  }

  /** There is a connection. */
  connected(): void {
    this.#isConnected = true;
    if (this.#asked !== undefined) this.#send(QUESTION);
  }

  /** There is none any more: what the next one leads to is not known. */
  disconnected(): void {
    this.#isConnected = false;
    if (this.#isAnswered) this.#asked = undefined;
  }

  /** The hub has told. */
  answered(identity: string | undefined): void {
    if (identity === undefined) return;
    this.#isAnswered = true;
    this.#asked?.resolve(identity);
  }

  /**
   * The hub has said that it cannot tell.
   *
   * @param ref what it answers to
   * @param error why
   * @returns whether that was an answer to this question
   */
  rejected(ref: unknown, error: BusError): boolean {
    if (ref !== REF) return false;
    this.fail(error);
    return true;
  }

  /** Nobody will tell. */
  fail(error: BusError): void {
    if (!this.#isAnswered) this.#asked?.reject(error);
    this.#asked = undefined;
  }
}
