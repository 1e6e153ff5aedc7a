/**
 * The fids of one connection: which file each stands for, and the walks between them: intro(5), attach(5) and walk(5).
 *
 * @module
 */
import { Errno, NinepError, refusal } from "./error.ts";
import type { Directory, File, OpenFile, OpenMode } from "./file.ts";
import type { DirectoryReads } from "./directory_reads.ts";
import { MAXWELEM, NOFID, type Qid } from "./message.ts";

/** What a fid stands for. */
export interface Fid {
  /** The way from the root, which is first. */
  readonly path: readonly (File | Directory)[];
  /** Whether it came about as a copy of another one that stands for a file: that is how a mount opens what it has looked up. */
  readonly copied: boolean;
  /** Whether it has been opened, or is about to be. */
  opened: undefined | "opening" | DirectoryReads | OpenedFile;
}

/** A file, opened. */
export interface OpenedFile {
  /** The file. */
  readonly file: OpenFile;
  /** How it was opened. */
  readonly how: OpenMode;
}

/** By their numbers, so many and no more. */
export class FidTable {
  readonly #fids = new Map<number, Fid>();
  readonly #most: number;

  /** @param most how many fids there may be */
  constructor(most: number) {
    this.#most = most;
  }

  /** How many there are. */
  get size(): number {
    return this.#fids.size;
  }

  /**
   * Finds one.
   *
   * @throws {NinepError} if there is none of that number
   */
  get(number: number): Fid {
    const fid = this.#fids.get(number);
    if (fid === undefined) throw refusal("badFid");
    return fid;
  }

  /** Whether a number still stands for that fid. */
  has(number: number, fid: Fid): boolean {
    return this.#fids.get(number) === fid;
  }

  /**
   * Makes one for the root.
   *
   * @throws {NinepError} if the number is taken, or none that a fid may have, or there are too many
   */
  attach(number: number, root: Directory): void {
    this.#add(number, { path: [root], copied: false, opened: undefined });
  }

  /**
   * Walks from one, and makes another where the walk ends; or the same, if it has the same number.
   *
   * @param names the steps, `..` among them
   * @returns the qid of each file on the way: of those that there are, if not all of the steps can be taken. Then there is no
   * new fid
   * @throws {NinepError} if not even the first step can be taken, or if the new fid cannot be
   */
  walk(from: number, to: number, names: readonly string[]): Qid[] {
    const { path, opened } = this.get(from);
    if (opened !== undefined) throw new NinepError("cannot walk from a fid that is open", Errno.EINVAL);
    if (names.length > MAXWELEM) {
      throw new NinepError(`a walk can take ${MAXWELEM} steps, not ${names.length}`, Errno.EINVAL);
    }
    if (to !== from && this.#fids.has(to)) throw refusal("fidInUse");
    const way = [...path];
    const qids: Qid[] = [];
    for (const name of names) {
      try {
        step(way, name);
      } catch (error) {
        // As far as it went; but the first step has nothing else to tell.
        if (qids.length === 0) throw error;
        return qids;
      }
      qids.push(way[way.length - 1].stat.qid);
    }
    const fid: Fid = { path: way, copied: names.length === 0 && path.length > 1, opened: undefined };
    if (to === from) this.#fids.set(to, fid);
    else this.#add(to, fid);
    return qids;
  }

  /**
   * Gives one up.
   *
   * @returns what it was
   * @throws {NinepError} if there is none of that number
   */
  take(number: number): Fid {
    const fid = this.get(number);
    this.#fids.delete(number);
    return fid;
  }

  /** Gives all up, and tells what they were. */
  takeAll(): Fid[] {
    const fids = [...this.#fids.values()];
    this.#fids.clear();
    return fids;
  }

  #add(number: number, fid: Fid): void {
    if (number === NOFID) throw refusal("badFid");
    if (this.#fids.has(number)) throw refusal("fidInUse");
    if (this.#fids.size >= this.#most) {
      throw new NinepError(`too many fids: a connection may have ${this.#most}`, Errno.EMFILE);
    }
    this.#fids.set(number, fid);
  }
}

/**
 * The file that a fid stands for.
 *
 * @param fid any
 */
export function fileOf({ path }: Fid): File | Directory {
  return path[path.length - 1];
}

/** Takes one step of a walk. */
function step(way: (File | Directory)[], name: string): void {
  const here = way[way.length - 1];
  if (!("entries" in here)) throw refusal("notDirectory");
  if (name === "..") {
    if (way.length > 1) way.pop();
    return;
  }
  const next = here.entries.get(name);
  if (next === undefined) throw refusal("missing");
  way.push(next);
}
