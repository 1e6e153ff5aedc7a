/**
 * Standard output, in larger writes while there is more to write at once, and event by event when there is not.
 *
 * @module
 */
import { concatenated } from "../bytes.ts";
import { reasonOf } from "../os_error.ts";
import { CommandError } from "./args.ts";

/** How many bytes may wait before they are written in any case. */
const HIGH_WATER_BYTES = 64 * 1024;

/** How long to wait before a pipe that has no room is tried again, in milliseconds. */
const RETRY_MS = 10;

/** Collects what is to be written until enough has come together, or until nothing more is at hand. */
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
   * Adds to what is to be written, and writes if that is enough.
   *
   * @param parts nobody changes them any more
   * @throws as {@linkcode flush} does
   */
  async add(...parts: readonly Uint8Array[]): Promise<void> {
    for (const part of parts) {
      this.#waiting.push(part);
      this.#bytes += part.length;
    }
    if (this.#bytes >= HIGH_WATER_BYTES) await this.flush();
  }

  /** Begins to write what has come together: nothing more is at hand. */
  start(): void {
    if (this.#bytes > 0) this.#writing ??= this.#writeAll();
  }

  /**
   * Writes what has come together, and waits until that is done.
   *
   * @throws {Deno.errors.BrokenPipe} if nobody reads any more
   * @throws {CommandError} if it cannot be written
   */
  async flush(): Promise<void> {
    this.start();
    await this.#writing;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#bytes > 0) {
        const chunk = concatenated(this.#waiting);
        this.#waiting = [];
        this.#bytes = 0;
        for (let done = 0; done < chunk.length;) done += await writeSome(chunk.subarray(done));
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

/**
 * Writes something at once.
 *
 * @param content bytes, or text that is written as UTF-8
 * @throws {Deno.errors.BrokenPipe} if nobody reads any more
 * @throws {CommandError} if it cannot be written
 */
export async function print(content: Uint8Array | string): Promise<void> {
  const output = new Output(() => {});
  await output.add(typeof content === "string" ? new TextEncoder().encode(content) : content);
  await output.flush();
}

/**
 * Writes what was asked for, at once. Whoever reads it may have seen enough before its end.
 *
 * @param content bytes, or text that is written as UTF-8
 * @throws {CommandError} if it cannot be written
 */
export async function printAnswer(content: Uint8Array | string): Promise<void> {
  try {
    await print(content);
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

/** Writes as much as there is room for, once there is any: whoever shares the pipe may have set it not to wait by itself. */
async function writeSome(bytes: Uint8Array): Promise<number> {
  for (;;) {
    try {
      return await Deno.stdout.write(bytes);
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
