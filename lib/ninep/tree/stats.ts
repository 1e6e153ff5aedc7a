/**
 * `stats`, opened: the counters as they were then, `name value` on a line each.
 *
 * @module
 */
import { refusal } from "../error.ts";
import type { OpenFile, ReadRequest, WriteRequest } from "../file.ts";

/** A text that is read by offset, as files usually are. */
export class StatsText implements OpenFile {
  readonly #text: Uint8Array;

  /** @param stats by name */
  constructor(stats: Readonly<Record<string, number>>) {
    this.#text = new TextEncoder().encode(
      Object.entries(stats).map(([name, value]) => `${name} ${value}\n`).join(""),
    );
  }

  read(request: ReadRequest): void {
    const { offset, count } = request;
    const start = offset > this.#text.length ? this.#text.length : Number(offset);
    request.answer(this.#text.subarray(start, start + count));
  }

  write(request: WriteRequest): void {
    request.fail(refusal("permission"));
  }

  /** Nothing waits. */
  flush(): void {}

  /** Nothing is held. */
  close(): void {}
}
