/**
 * The file `DIR/pruned`, in which is told what has been removed from a directory. Scripts ignore it, and where there is none nothing
 * has been removed.
 *
 * @module
 */
import { moveWhereNoneIs, openLocked, replaceLocked } from "../../locked_file.ts";
import { BusError } from "../../bus.ts";
import { reasonOf, unlessMissing } from "../../os_error.ts";
import { Removals } from "./removals.ts";

/** Reads the file, each time that it has changed. */
export class RemovalsReader {
  readonly #path: string;
  #read: { readonly version: string; readonly removals: Removals } | undefined;

  /** @param bus the directory */
  constructor(bus: string) {
    this.#path = pathIn(bus);
  }

  /**
   * What has been removed by now.
   *
   * @throws {BusError} if the file cannot be read
   */
  read(): Removals {
    try {
      const info = unlessMissing(() => Deno.statSync(this.#path));
      if (info === undefined) return Removals.NONE;
      // It is replaced, never changed; the time is for those file systems which soon give an inode to another file.
      const version = `${info.ino} ${info.size} ${info.mtime?.getTime()}`;
      if (this.#read?.version !== version) {
        this.#read = { version, removals: Removals.parse(Deno.readTextFileSync(this.#path)) };
      }
      return this.#read.removals;
    } catch (error) {
      throw damaged(this.#path, error);
    }
  }
}

/** The file as whoever removes events has it, who is the only one until it is let go of. */
export class RemovalsWriter implements Disposable {
  readonly #bus: string;
  readonly #path: string;
  #file: Deno.FsFile | undefined;
  #removals = Removals.NONE;

  private constructor(bus: string) {
    this.#bus = bus;
    this.#path = pathIn(bus);
  }

  /**
   * Opens the file, or makes it.
   *
   * @param bus the directory, which has an `events/`
   * @throws {BusError} if it is damaged, or another process has it
   * @throws if it cannot be written
   */
  static async open(bus: string): Promise<RemovalsWriter> {
    const writer = new RemovalsWriter(bus);
    try {
      writer.#file = await openLocked(writer.#path);
      if (writer.#file === undefined) writer.#replace(Removals.NONE, moveWhereNoneIs);
      else writer.#load();
    } catch (error) {
      writer[Symbol.dispose]();
      throw error;
    }
    return writer;
  }

  /** Tells of events that are about to be removed. When this returns, they may be. */
  announce(names: readonly string[]): void {
    this.#replace(this.#removals.withGoing(names));
  }

  /** Takes note that events have been removed, of those that were announced. It is written with the next announcement, or at the end. */
  removed(names: readonly string[]): void {
    this.#removals = this.#removals.withGone(names);
  }

  /** Writes what is to stay. */
  finish(): void {
    this.#replace(this.#removals);
  }

  /** Lets go of the file. */
  [Symbol.dispose](): void {
    this.#file?.close();
    this.#file = undefined;
  }

  /** Reads the file. What was announced by a process that has been killed since is gone, unless it is there. */
  #load(): void {
    try {
      const removals = Removals.parse(Deno.readTextFileSync(this.#path));
      this.#removals = removals.withGone(removals.going.filter((name) => !isThere(`${this.#bus}/events/${name}`)));
    } catch (error) {
      throw damaged(this.#path, error);
    }
  }

  #replace(removals: Removals, put: typeof moveWhereNoneIs = Deno.renameSync): void {
    // Whoever may read the events is to know which of them are gone, however strict this process is with what it makes.
    const { mode } = Deno.statSync(`${this.#bus}/events`);
    const putReadable = (from: string, to: string) => {
      if (mode !== null) Deno.chmodSync(from, mode & 0o666);
      put(from, to);
    };
    // In tmp/, so that what a kill leaves goes with all else that is left there.
    Deno.mkdirSync(`${this.#bus}/tmp`, { recursive: true });
    const file = replaceLocked(this.#path, removals.text, putReadable, `${this.#bus}/tmp/pruned.${Deno.pid}`);
    this.#file?.close();
    this.#file = file;
  }
}

function pathIn(bus: string): string {
  return `${bus}/pruned`;
}

function isThere(path: string): boolean {
  return unlessMissing(() => Deno.lstatSync(path)) !== undefined;
}

function damaged(path: string, error: unknown): BusError {
  return new BusError(`cannot read from ${path} what has been removed: ${reasonOf(error)}`, { cause: error });
}
