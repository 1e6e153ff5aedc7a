/**
 * A progress bar, for what may take longer than a person likes to wait without a word.
 *
 * @module
 */
import { writeAllSync } from "../bytes.ts";

/** How long to be silent at first, in milliseconds, and then how often to draw. */
const SILENCE_MS = 1000;
const DRAW_MS = 100;

/** How wide the bar is, in characters. */
const WIDTH = 30;

/** What clears the line that the cursor is on, and goes to its beginning. */
const CLEAR = "\r\x1b[K";

/** A line on standard error that shows how far something is, if that is a terminal. It is gone when this is disposed of. */
export class ProgressBar implements Disposable {
  readonly #isSeen = Deno.stderr.isTerminal();
  #next = performance.now() + SILENCE_MS;
  #isDrawn = false;

  /**
   * Shows how far it is.
   *
   * @param doing what is being done
   * @param done with how many that has been done
   * @param total of how many, if that is known
   */
  show(doing: string, done: number, total: number | undefined): void {
    if (!this.#isSeen || performance.now() < this.#next) return;
    this.#next = performance.now() + DRAW_MS;
    this.#isDrawn = true;
    const count = done.toLocaleString("en");
    if (total === undefined) return write(`${CLEAR}${doing} ${count}`);
    const share = total === 0 ? 1 : Math.min(1, done / total);
    const bar = "#".repeat(Math.round(share * WIDTH)).padEnd(WIDTH, ".");
    write(`${CLEAR}${doing} [${bar}] ${Math.floor(share * 100)}% ${count} of ${total.toLocaleString("en")}`);
  }

  [Symbol.dispose](): void {
    if (this.#isDrawn) write(CLEAR);
    this.#isDrawn = false;
  }
}

function write(text: string): void {
  try {
    writeAllSync(Deno.stderr, text);
  } catch {
    // Nobody sees it.
  }
}
