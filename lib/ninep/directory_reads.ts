/**
 * A directory, opened: its entries, as many whole ones to a read as there is room for: read(5).
 *
 * @module
 */
import { concatenated } from "../bytes.ts";
import { encodeStat } from "./codec.ts";
import { Errno, NinepError, refusal } from "./error.ts";
import type { Directory } from "./file.ts";
import type { Dialect } from "./message.ts";

/** The reads of one fid. */
export class DirectoryReads {
  readonly #entries: readonly Uint8Array[];
  /** Where the next read must begin. */
  #offset = 0n;
  /** How many entries have been read. */
  #read = 0;

  /**
   * @param directory what is read
   * @param dialect what the connection speaks
   */
  constructor(directory: Directory, dialect: Dialect) {
    this.#entries = Array.from(directory.entries.values(), ({ stat }) => encodeStat(stat, dialect));
  }

  /**
   * Reads on, or from the start.
   *
   * @param offset where the read before ended, or 0
   * @param count the most bytes that the answer may hold
   * @throws {NinepError} if the offset is another, or no entry fits
   */
  read(offset: bigint, count: number): Uint8Array {
    if (offset === 0n) this.#offset = 0n, this.#read = 0;
    else if (offset !== this.#offset) throw refusal("badOffset");
    const taken: Uint8Array[] = [];
    let bytes = 0;
    for (let entry; (entry = this.#entries[this.#read]) !== undefined; this.#read++) {
      if (bytes + entry.length > count) break;
      taken.push(entry);
      bytes += entry.length;
    }
    if (bytes === 0 && count > 0 && this.#read < this.#entries.length) {
      throw new NinepError(`a read of ${count} bytes has no room for an entry of the directory`, Errno.EINVAL);
    }
    this.#offset += BigInt(bytes);
    return concatenated(taken);
  }
}
