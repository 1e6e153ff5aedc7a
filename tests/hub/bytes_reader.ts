/** Reading a connection by numbers of bytes and by lines, as the protocols on it are written down. */
import { concatenated } from "../../lib/bytes.ts";
import { within } from "../deadline.ts";

/** What can be read: a connection, say. */
export interface Source {
  read(buffer: Uint8Array): Promise<number | null>;
}

/** Reads a connection, and nothing of it before it is asked to. */
export class BytesReader {
  readonly #source: Source;
  #unread: Uint8Array = new Uint8Array(0);

  /** @param source what to read */
  constructor(source: Source) {
    this.#source = source;
  }

  /** So many bytes; `undefined` if the connection ends before them. */
  async take(count: number): Promise<Uint8Array | undefined> {
    const pieces = [this.#unread];
    let size = this.#unread.length;
    while (size < count) {
      const piece = await this.#more();
      if (piece === undefined) return undefined;
      pieces.push(piece);
      size += piece.length;
    }
    const all = concatenated(pieces);
    this.#unread = all.subarray(count);
    return all.subarray(0, count);
  }

  /** The text up to a delimiter, which is left out; `undefined` if the connection ends before it. */
  async takeUntil(delimiter: string): Promise<string | undefined> {
    for (;;) {
      // Each byte is a character here, so that a place in the text is one in the bytes.
      const text = new TextDecoder("latin1").decode(this.#unread);
      const at = text.indexOf(delimiter);
      if (at >= 0) {
        const found = this.#unread.subarray(0, at);
        this.#unread = this.#unread.subarray(at + delimiter.length);
        return new TextDecoder().decode(found);
      }
      const piece = await this.#more();
      if (piece === undefined) return undefined;
      this.#unread = concatenated([this.#unread, piece]);
    }
  }

  /** All up to the end of the connection. */
  async rest(): Promise<Uint8Array> {
    const pieces = [this.#unread];
    for (let piece; (piece = await this.#more()) !== undefined;) pieces.push(piece);
    this.#unread = new Uint8Array(0);
    return concatenated(pieces);
  }

  async #more(): Promise<Uint8Array | undefined> {
    const buffer = new Uint8Array(64 * 1024);
    // A connection that is reset has ended, too.
    const size = await within(this.#source.read(buffer).catch(() => null), "more bytes, or the end of the connection");
    return size === null ? undefined : buffer.subarray(0, size);
  }
}

/** Writes all, however little of it a call takes. */
export async function writeAll(connection: { write(bytes: Uint8Array): Promise<number> }, bytes: Uint8Array) {
  for (let done = 0; done < bytes.length;) done += await connection.write(bytes.subarray(done));
}
