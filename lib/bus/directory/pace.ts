/**
 * The pace of work that can wait, in a process that has other things to do, on a machine where others have.
 *
 * @module
 */

/** For how long to work without letting others have their turn, in milliseconds. */
const TURN_MS = 4;

/**
 * How many files are removed in a row, and how long the pause after that is, in milliseconds. The shortest queue of a watch holds what
 * it is told of them, and has been emptied when the next come: else those who watch could not know whether something
 * else has been lost in the crowd, and would hold back what follows.
 */
const ROW = 12;
const ROW_PAUSE_MS = 4;

/** Tells when it is the turn of others. */
export class Pace {
  #began = performance.now();
  #row = 0;

  /** Waits for the next turn, if this one has been long enough. */
  turn(): Promise<void> | undefined {
    return performance.now() - this.#began < TURN_MS ? undefined : this.#pause(0);
  }

  /** Waits until one more file may be removed. */
  removal(): Promise<void> | undefined {
    return ++this.#row % ROW === 0 ? this.#pause(ROW_PAUSE_MS) : this.turn();
  }

  async #pause(milliseconds: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    this.#began = performance.now();
  }
}
