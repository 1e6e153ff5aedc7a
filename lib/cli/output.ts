/**
 * Standard output, written event by event while it is read as fast as events come, and in larger writes when it is not.
 *
 * @module
 */
import { concatenated } from "../bytes.ts";
import { reasonOf } from "../os_error.ts";
import { CommandError } from "./args.ts";

/** How many bytes may wait to be written before the producer has to, too. */
const HIGH_WATER_BYTES = 64 * 1024;

/** Collects what is written while an earlier write is under way, then writes that at once. */
export class Output {
  readonly #onFailure: () => void;
  #waiting: Uint8Array[] = [];
  #bytes = 0;
  #writing: Promise<void> | undefined;
  #failure: { readonly error: Error } | undefined;

  /** @param onFailure is called as soon as a write has failed: who waits for the next event should not wait any longer */
  constructor(onFailure: () => void) {
    this.#onFailure = onFailure;
  }

  /**
   * Writes, now or soon.
   *
   * @param parts what to write; nobody changes it any more
   * @returns when more may be written
   * @throws as {@linkcode flush} does, if an earlier write failed
   */
  async write(...parts: readonly Uint8Array[]): Promise<void> {
    for (const part of parts) {
      this.#waiting.push(part);
      this.#bytes += part.length;
    }
    this.#writing ??= this.#writeAll();
    if (this.#bytes >= HIGH_WATER_BYTES || this.#failure !== undefined) await this.flush();
  }

  /**
   * Waits until all has been written.
   *
   * @throws {Deno.errors.BrokenPipe} if nobody reads any more
   * @throws {CommandError} if it cannot be written
   */
  async flush(): Promise<void> {
    await this.#writing;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#bytes > 0) {
        const chunk = concatenated(this.#waiting);
        this.#waiting = [];
        this.#bytes = 0;
        for (let done = 0; done < chunk.length;) done += await Deno.stdout.write(chunk.subarray(done));
      }
    } catch (error) {
      const closed = error instanceof Deno.errors.BrokenPipe;
      this.#failure = {
        error: closed
          ? error
          : new CommandError(`cannot write to standard output: ${reasonOf(error)}`, { cause: error }),
      };
      this.#onFailure();
    } finally {
      this.#writing = undefined;
    }
  }
}
