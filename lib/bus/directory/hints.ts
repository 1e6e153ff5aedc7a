/**
 * Hints that something has come into a directory, as the platform's watch gives them, and whether it may have kept some to
 * itself.
 *
 * It may: old Deno releases hold 16 hints and drop the rest in silence, new ones hold more and set a flag when they drop, and
 * the kernel's own queue of 16,384 overflows without a word in all of them. What can be known is that a queue which was
 * found empty again before as many hints had come as it holds has dropped none.
 *
 * @module
 */
import type { Timer } from "../../time.ts";

/**
 * How many hints the shortest queue holds of those that drop some without a word: Deno's own in old releases, the kernel's where
 * Deno says so. The kernel's also holds what Deno keeps to itself, so only part of it is counted on.
 */
const SHORTEST_QUEUE = 16;
const SHORTEST_QUEUE_IF_TOLD = 4096;

/** How often in a row the event loop must come round without a hint before the queue is known to be empty. */
const IDLE_TURNS = 2;

/** Who acts on hints. */
export interface HintListener {
  /** A file of this name was renamed into the directory, or within it. */
  hinted(name: string): void;
  /** Something about the directory has changed. Comes after {@linkcode hinted} where both do. */
  changed(): void;
  /** The queue is empty, and no hint has been dropped but those that a listing has made up for. */
  settled(): void;
  /** There will be no more hints. */
  ended(): void;
}

/** The hints for one directory, until it is closed. */
export class Hints {
  readonly #directory: string;
  readonly #watcher: Deno.FsWatcher;
  readonly #listener: HintListener;
  readonly #queue = tellsWhatItDrops(Deno.version.deno) ? SHORTEST_QUEUE_IF_TOLD : SHORTEST_QUEUE;
  /** Hints that have come since the queue was last known to be empty, or since the last listing that is over began. */
  #run = 0;
  /** What is to become of that when the listing under way is over: hints that have come since it began. */
  #listingRun = 0;
  #total = 0;
  #idleTimer: Timer | undefined;
  #closed = false;

  /**
   * @param directory what to watch; what is below it in other directories is left out
   * @param listener is told of the hints
   * @throws if there is no such directory, or the system has no watch to give (it limits them for each user)
   */
  constructor(directory: string, listener: HintListener) {
    this.#directory = directory;
    this.#watcher = Deno.watchFs(directory, { recursive: false });
    this.#listener = listener;
    this.#follow();
  }

  /** Whether no hint can have been dropped but those that a listing has made up for. */
  get complete(): boolean {
    return this.#run < this.#queue;
  }

  /** A listing begins. */
  listing(): void {
    this.#listingRun = 0;
  }

  /**
   * The listing is over. It makes up for what was dropped before it began, and does so only now: what is hinted while it is
   * under way may follow the gap, and must not be reported before what is missing.
   */
  listed(): void {
    this.#run = Math.min(this.#run, this.#listingRun);
    this.#settle();
  }

  /** Finds out whether the queue is empty, and says so if it is. */
  #settle(): void {
    if (this.#idleTimer === undefined && !this.#closed) this.#awaitIdle(0);
  }

  /** Stops watching. The listener hears no more. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#idleTimer);
    try {
      this.#watcher.close();
    } catch {
      // It ended by itself.
    }
  }

  async #follow(): Promise<void> {
    const hints = this.#watcher[Symbol.asyncIterator]();
    for (;;) {
      const hint = await hints.next().catch(() => ({ done: true as const, value: undefined }));
      if (hint.done) break;
      this.#take(hint.value);
    }
    if (!this.#closed) this.#listener.ended();
  }

  #take({ kind, paths, flag }: Deno.FsEvent): void {
    // Closing does not take back what is under way.
    if (this.#closed) return;
    this.#total++;
    const rescan = flag === "rescan";
    this.#run = rescan ? this.#queue : this.#run + 1;
    this.#listingRun = rescan ? this.#queue : this.#listingRun + 1;
    this.#settle();
    if (kind === "rename") { for (const path of paths) this.#listener.hinted(path.slice(path.lastIndexOf("/") + 1)); }
    if (kind === "remove") {
      // A new directory under the same name may get the same inode, but never the old watch.
      if (paths.includes(this.#directory)) this.#listener.ended();
      // What has gone brings nothing, unless it has taken the place of a hint of what has come.
      else if (this.complete) return;
    }
    this.#listener.changed();
  }

  /** Ends the run once the event loop has come round often enough without a hint, unless one may have been dropped by then. */
  #awaitIdle(turns: number): void {
    // A timer that is cleared in the turn in which it is due may fire all the same.
    if (this.#closed) return;
    if (turns === IDLE_TURNS) {
      this.#idleTimer = undefined;
      if (this.#listingRun < this.#queue) this.#listingRun = 0;
      if (!this.complete) return;
      this.#run = 0;
      this.#listener.settled();
      return;
    }
    const total = this.#total;
    this.#idleTimer = setTimeout(() => this.#awaitIdle(total === this.#total ? turns + 1 : 0));
  }
}

/** Whether a release of Deno sets a flag where it has dropped hints. */
function tellsWhatItDrops(release: string): boolean {
  const [major, minor] = release.split(".").map(Number);
  return major > 2 || (major === 2 && minor >= 9);
}
