/**
 * The pace of work that can wait, in a process that has other things to do, on a machine where others have.
 *
 * @module
 */

/** For how long to work in a row, in milliseconds. */
const WORK_MS = 4;

/** Tells when it is the turn of others. */
export class Pace {
  readonly #restMs: number;
  #began = performance.now();

  /** @param restMs how long to rest, in milliseconds, besides letting the event loop come round */
  constructor(restMs = 0) {
    this.#restMs = restMs;
  }

  /** Rests, if it is time. */
  turn(): Promise<void> | undefined {
    return performance.now() - this.#began < WORK_MS ? undefined : this.#rest();
  }

  async #rest(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.#restMs));
    this.#began = performance.now();
  }
}
