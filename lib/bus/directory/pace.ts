/**
 * The pace of work that can wait, in a process that has other things to do, on a machine where others have.
 *
 * @module
 */

/** For how long to work, and then to rest, in milliseconds. */
const WORK_MS = 4;
const REST_MS = 4;

/** Tells when it is the turn of others. */
export class Pace {
  #began = performance.now();

  /** Rests, if it is time. */
  turn(): Promise<void> | undefined {
    return performance.now() - this.#began < WORK_MS ? undefined : this.#rest();
  }

  async #rest(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    this.#began = performance.now();
  }
}
