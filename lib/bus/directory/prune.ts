/**
 * Removing old events from a directory, so that it can be used for years.
 *
 * What is removed is told of in `DIR/pruned` before it is, so that whoever comes back to a place before it learns that there is a
 * gap, also if this is killed in the middle. Those who are subscribed and keep up notice nothing.
 *
 * @module
 */
import { BusError } from "../../bus.ts";
import { reasonOf, unlessMissing } from "../../os_error.ts";
import { isLinked } from "./name.ts";
import { type OutdatedEvent, OutdatedEvents, type PruneLimits } from "./outdated.ts";
import { Pace } from "./pace.ts";
import { RemovalsWriter } from "./removals_file.ts";

/** How events are removed. */
export interface PruneOptions {
  /** Whether only to find out what would be. */
  readonly dryRun?: boolean;
  /** Ends it early. */
  readonly signal?: AbortSignal;
  /** Is called for each file, with how far it is. */
  readonly onProgress?: (progress: PruneProgress) => void;
}

/** How far it is. */
export interface PruneProgress {
  /** What is being done. */
  readonly doing: "looking" | "removing";
  /** With how many files that has been done. */
  readonly done: number;
  /** Of how many, where that is known. */
  readonly total: number | undefined;
}

/** What has been removed, or would be. */
export interface Pruned {
  /** How many events. */
  readonly events: number;
  /** How many bytes their payloads had. */
  readonly bytes: number;
  /** How many files in `tmp/` whose writers were killed. */
  readonly orphans: number;
  /** How many events are dated in the future, and stay until their time has come. */
  readonly ahead: number;
}

/** How many events are told of at once, before they are removed. */
const SLICE = 10_000;

/** How long to rest between removing some files and some more, in milliseconds: so long takes a watch to be done with what it is told. */
const REMOVING_REST_MS = 12;

/** How old a file that belongs to no event must be, in milliseconds, so that nobody can be about to publish that any more. */
const ORPHAN_MS = 3_600_000;

/**
 * Removes events from a directory, and what writers that were killed have left in it.
 *
 * @param bus the directory
 * @param limits what is to stay; without any, all events do
 * @param options how
 * @throws {BusError} if there is no bus, or it cannot be done; the message says what has been. Where another process does it,
 * the cause is a `Deno.errors.Busy`
 */
export async function prune(bus: string, limits: PruneLimits, options: PruneOptions = {}): Promise<Pruned> {
  const outdated = new OutdatedEvents(bus, limits);
  const pruning = new Pruning(bus, options);
  try {
    if (unlessMissing(() => Deno.statSync(bus)) === undefined) throw new Error("there is no such directory");
    if (!isBus(bus)) throw new Error("it is no bus, since it has no events/");
    // What they took may be the room that is needed to tell of the events.
    await pruning.removeOrphans();
    await pruning.removeEvents(outdated);
  } catch (error) {
    if (!options.signal?.aborted) {
      const { events } = pruning.removed;
      const before = events === 0 ? "" : `; ${events} events were removed before that`;
      throw new BusError(`cannot prune ${bus}: ${reasonOf(error, bus)}${before}`, { cause: error });
    }
  }
  return { ...pruning.removed, ahead: outdated.ahead };
}

/**
 * Whether there is a bus in a directory.
 *
 * @param path the directory
 */
export function isBus(path: string): boolean {
  return unlessMissing(() => Deno.statSync(`${path}/events`))?.isDirectory === true;
}

/** One run over one directory. */
class Pruning {
  /** What has been removed so far. */
  readonly removed = { events: 0, bytes: 0, orphans: 0 };
  readonly #bus: string;
  readonly #options: PruneOptions;
  readonly #lookingPace = new Pace();
  readonly #removingPace = new Pace(REMOVING_REST_MS);
  #looks = 0;

  constructor(bus: string, options: PruneOptions) {
    this.#bus = bus;
    this.#options = options;
  }

  /** Removes what writers that were killed have left, and what `via/` says of events that have been removed by hand. */
  async removeOrphans(): Promise<void> {
    this.removed.orphans = await this.#removeOrphansIn("tmp", () => true);
    await this.#removeOrphansIn("via", (name) => {
      return unlessMissing(() => Deno.lstatSync(`${this.#bus}/events/${name}`)) === undefined;
    });
  }

  async #removeOrphansIn(part: "tmp" | "via", isOrphan: (name: string) => boolean): Promise<number> {
    const directory = `${this.#bus}/${part}`;
    if (unlessMissing(() => Deno.statSync(directory)) === undefined) return 0;
    let count = 0;
    for await (const { name, isFile } of Deno.readDir(directory)) {
      await this.#looked();
      const info = isFile && isOrphan(name) ? unlessMissing(() => Deno.lstatSync(`${directory}/${name}`)) : undefined;
      if (info === undefined || Date.now() - (info.mtime?.getTime() ?? Infinity) < ORPHAN_MS) continue;
      this.#remove(`${directory}/${name}`);
      count++;
    }
    return count;
  }

  async removeEvents(outdated: OutdatedEvents): Promise<void> {
    const names = await outdated.find(() => this.#looked());
    if (names.length === 0) return;
    using writer = this.#options.dryRun ? undefined : await RemovalsWriter.open(this.#bus);
    try {
      for (let at = 0; at < names.length; at += SLICE) {
        const slice: OutdatedEvent[] = [];
        for (const name of names.slice(at, at + SLICE)) {
          const event = outdated.check(name);
          if (event !== undefined) slice.push(event);
          await this.#lookingPace.turn();
        }
        writer?.announce(slice.map(({ name }) => name));
        await this.#removeSlice(slice, writer, names.length);
      }
    } finally {
      writer?.finish();
    }
  }

  async #removeSlice(
    slice: readonly OutdatedEvent[],
    writer: RemovalsWriter | undefined,
    total: number,
  ): Promise<void> {
    const { signal, onProgress } = this.#options;
    const gone: string[] = [];
    try {
      for (const { name, bytes } of slice) {
        signal?.throwIfAborted();
        onProgress?.({ doing: "removing", done: this.removed.events, total });
        this.#remove(`${this.#bus}/events/${name}`);
        if (isLinked(name)) this.#remove(`${this.#bus}/via/${name}`);
        gone.push(name);
        this.removed.events++;
        this.removed.bytes += bytes;
        await this.#removingPace.turn();
      }
    } finally {
      writer?.removed(gone);
    }
  }

  /** Removes a file, which somebody else may have removed. */
  #remove(path: string): void {
    if (!this.#options.dryRun) unlessMissing(() => Deno.removeSync(path));
  }

  /** One more file has been looked at. */
  #looked(): Promise<void> | undefined {
    const { signal, onProgress } = this.#options;
    signal?.throwIfAborted();
    onProgress?.({ doing: "looking", done: ++this.#looks, total: undefined });
    return this.#lookingPace.turn();
  }
}
