/**
 * `stats` and `id`, opened: a text, as it was then.
 *
 * @module
 */
import { refusal } from "../error.ts";
import type { OpenFile, ReadRequest, WriteRequest } from "../file.ts";

/** A text that is read by offset, as files usually are. */
export class FixedText implements OpenFile {
  readonly #text: Uint8Array;

  /** @param text all of it */
  constructor(text: string) {
    this.#text = new TextEncoder().encode(text);
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
