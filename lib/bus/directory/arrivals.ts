/**
 * Which events have arrived in a directory, in the order in which they came, each once.
 *
 * The watch is a hint, the listing is the truth. A hint tells of a new event at once, but may be dropped; so activity always
 * leads to a listing soon after, as often as a small share of the time allows. A directory that has changed without a hint,
 * as those of network file systems do, is found by its modification time.
 *
 * That loses nothing, but an event whose hint was dropped would be overtaken by the one after it. So as soon as a hint may
 * have been dropped, those that follow are held back until a listing has put all in order, for {@linkcode HOLD_MS} at most.
 *
 * @module
 */
import { BusError } from "../../bus.ts";
import { reasonOf, unlessMissing } from "../../os_error.ts";
import { formatTime, systemClock, type Timer } from "../../time.ts";
import { Hints } from "./hints.ts";
import { parseName, sortNames, timeOf } from "./name.ts";
import { NameSet } from "./name_set.ts";

/**
 * How long a hint may be held back, in milliseconds: from some 100,000 events on, a directory may not be due to be listed
 * again sooner.
 */
const HOLD_MS = 2000;

/** Listings take at most one part in so many of the time, and somewhat more while hints may be missing... */
const LISTING_SHARE = 30;
const DOUBTFUL_LISTING_SHARE = 20;

/** ...unless a burst has made the directory this much larger since the last: what one listing costs, many events share. */
const GROWTH = 1 / 8;

/** How long it may take from when an event is dated until it is in the directory, in milliseconds, for most of them. */
const WRITING_MS = 20;

/** How soon after a change the listing follows, in milliseconds, so that a few changes share one. */
const LISTING_DELAY_MS = 10;

/** How often the directory itself is looked at, in milliseconds: with hints, and without. */
const LOOK_MS = 1000;
const LOOK_WITHOUT_HINTS_MS = 50;

/**
 * How old a modification time must be, in milliseconds, before a listing is known to show all that it stands for: two seconds
 * is the coarsest step in which file systems count.
 */
const SETTLED_MS = 2000;

/** Who wants to know what arrives. */
export interface ArrivalListener {
  /** An event has arrived. */
  arrived(name: string): void;
  /** The directory cannot be read any more; nothing follows. */
  failed(error: BusError): void;
}

/** A listing that is over. */
interface Listing {
  /** How many events it showed. */
  readonly entries: number;
  /** How long it took, in milliseconds, and when it ended, on the clock of `performance.now()`. */
  readonly took: number;
  readonly ended: number;
  /** When the directory had last been modified as it began, in milliseconds since 1970. */
  readonly modified: number;
  /** Whether all that is behind that time was there to be listed. */
  settled: boolean;
}

/** A listing that has yet to begin, and whether somebody wants the names that it shows. */
interface NextListing {
  collect: boolean;
  readonly names: Promise<string[]>;
}

/** An event that waits for its place. */
interface Held {
  /** Whether a hint has told of it: what only a listing has shown may be overtaken by what that passed by. */
  readonly hinted: boolean;
  /** Since when, on the clock of `performance.now()`. */
  readonly since: number;
}

/** Follows one directory of events. */
export class Arrivals {
  readonly #bus: string;
  readonly #directory: string;
  readonly #listener: ArrivalListener;
  #seen = new NameSet();
  #stopped = false;

  #hints: Hints | undefined;
  /** The device and inode that are followed: the directory's name may come to stand for others. */
  #identity: string | undefined;
  #lookTimer: Timer | undefined;

  /** Whether a hint may have been dropped since the last listing began, so that those which follow are held back. */
  #doubtful = false;
  readonly #held = new Map<string, Held>();
  #holdTimer: Timer | undefined;

  /** While a listing is under way: the names that were reported meanwhile, which it may or may not have come across. */
  #meanwhile: string[] | undefined;
  #changedMeanwhile = false;
  /** What the last listing was like; `undefined` until there has been one. */
  #lastListing: Listing | undefined;
  #listings: Promise<unknown> = Promise.resolve();
  #nextListing: NextListing | undefined;
  #listTimer: Timer | undefined;
  /** Whether that timer waits no longer than it must. */
  #listSoon = false;

  /**
   * @param bus the directory whose `events/` is followed
   * @param listener is told of what arrives
   */
  constructor(bus: string, listener: ArrivalListener) {
    this.#bus = bus;
    this.#directory = `${bus}/events`;
    this.#listener = listener;
  }

  /**
   * Begins to follow the directory, which is made if it is missing. The events that are in it by then do not count as arrived.
   *
   * @returns once nothing that arrives can be missed
   * @throws {BusError} if the directory cannot be read
   */
  async start(): Promise<void> {
    try {
      if (!this.#find()) {
        Deno.mkdirSync(this.#directory, { recursive: true });
        this.#find();
      }
      await this.#list(false);
      this.#lookLater();
    } catch (error) {
      this.stop();
      throw this.#failure(error);
    }
  }

  /**
   * Stops following the directory. Nothing is reported any more.
   *
   * @returns once no listing is under way, either
   */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#lose();
    clearTimeout(this.#lookTimer);
    this.#stopHolding();
    clearTimeout(this.#listTimer);
    await this.#listings;
  }

  /**
   * Lists the events that are there, each of which was there from the start or has been reported by the time that this
   * resolves. Those that are held back are left out: they are reported later.
   *
   * @returns their names in no order, in an array that is not the caller's alone
   * @throws {BusError} if the directory cannot be read
   */
  async list(): Promise<readonly string[]> {
    try {
      return await this.#list(true);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /**
   * Takes note of an event that this process has published, sooner than a hint would; so it may come before one that another
   * process has published a moment earlier.
   */
  published(name: string): void {
    if (this.#seen.has(name) && !this.#held.has(name)) return;
    if (this.#doubtful && this.#lastListing !== undefined) this.#hold(name, true);
    else this.#report(name);
  }

  #report(name: string): void {
    this.#seen.add(name);
    this.#meanwhile?.push(name);
    this.#held.delete(name);
    this.#listener.arrived(name);
  }

  #failure(error: unknown): BusError {
    return new BusError(`cannot subscribe to ${this.#bus}: ${reasonOf(error, this.#bus)}`, { cause: error });
  }

  #fail(error: unknown): void {
    if (this.#stopped) return;
    this.stop();
    this.#listener.failed(this.#failure(error));
  }

  // The directory itself, which may be removed, and made again.

  /** Looks at the directory, and follows what its name now stands for. Returns whether it is there. */
  #find(): boolean {
    // A timer that is cleared in the turn in which it is due may fire all the same, and nobody would end this watch.
    if (this.#stopped) return false;
    const info = this.#stat();
    if (info === undefined) {
      this.#lose();
      return false;
    }
    const identity = `${info.dev}:${info.ino}`;
    if (identity === this.#identity) return true;
    if (this.#hints !== undefined) {
      this.#lose();
      // Some releases hear nothing of a watch that is begun in the same turn in which the one before was closed.
      this.#listLater();
      return false;
    }
    try {
      this.#hints = new Hints(this.#directory, {
        hinted: (name) => this.#hinted(name),
        changed: () => this.#listLater(),
        settled: () => this.#settled(),
        ended: () => {
          this.#lose();
          this.#listLater();
        },
      });
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      // Where the system has no watch to give, looking often has to do.
    }
    this.#identity = identity;
    if (this.#lastListing !== undefined) this.#lastListing.settled = false;
    return true;
  }

  #stat(): Deno.FileInfo | undefined {
    const info = unlessMissing(() => Deno.statSync(this.#directory));
    if (info?.isDirectory === false) throw new Deno.errors.NotADirectory(`${this.#directory} is not a directory`);
    return info;
  }

  #lose(): void {
    this.#hints?.close();
    this.#hints = undefined;
    this.#identity = undefined;
  }

  #lookLater(): void {
    if (this.#stopped) return;
    const wait = this.#hints === undefined ? LOOK_WITHOUT_HINTS_MS : LOOK_MS;
    this.#lookTimer = setTimeout(() => {
      try {
        if (this.#find() && this.#mayHaveChanged()) this.#listLater();
        this.#lookLater();
      } catch (error) {
        this.#fail(error);
      }
    }, wait);
  }

  /** Whether there may be something that the last listing did not show. */
  #mayHaveChanged(): boolean {
    const last = this.#lastListing;
    return last === undefined || !last.settled || this.#stat()?.mtime?.getTime() !== last.modified;
  }

  // Hints.

  #hinted(name: string): void {
    if (parseName(name) === undefined || (this.#seen.has(name) && !this.#held.has(name))) return;
    if (this.#hints?.complete === false) this.#doubtful = true;
    if (this.#lastListing === undefined) this.#held.set(name, { hinted: true, since: performance.now() });
    else if (this.#doubtful) this.#hold(name, true);
    else this.#reportUpTo(name);
  }

  /**
   * Reports what a hint has told of, after what is held back and comes before it: hints come in the order of what they tell, so its
   * own has been dropped.
   */
  #reportUpTo(name: string): void {
    if (this.#held.size > 0) {
      const names = sortNames([...this.#held.keys()].filter((held) => held !== name).concat(name));
      for (const earlier of names.slice(0, names.indexOf(name))) this.#report(earlier);
    }
    this.#report(name);
  }

  #hold(name: string, hinted: boolean, since = performance.now()): void {
    const held = this.#held.get(name);
    this.#held.set(name, { hinted: hinted || held?.hinted === true, since: held?.since ?? since });
    this.#holdTimer ??= setTimeout(() => {
      this.#holdTimer = undefined;
      // A listing that is under way will soon have put all in order.
      if (this.#meanwhile === undefined) this.#releaseHeld();
    }, HOLD_MS);
  }

  /** Gives up waiting for a listing. What follows is held back all the same. */
  #releaseHeld(): void {
    this.#stopHolding();
    for (const name of sortNames([...this.#held.keys()])) this.#report(name);
  }

  /**
   * Nothing is missing any more: what the last listing may have passed by has been told by hints. What it has shown and they have
   * not told of may still be overtaken by what it passed by, whose hint may be on its way.
   */
  #settled(): void {
    if (this.#meanwhile !== undefined || this.#lastListing === undefined) return;
    this.#doubtful = false;
    const names = sortNames([...this.#held.keys()]);
    const last = names.findLastIndex((name) => this.#held.get(name)?.hinted);
    for (const name of names.slice(0, last + 1)) this.#report(name);
    if (this.#held.size === 0) this.#stopHolding();
    else this.#listLater();
  }

  #stopHolding(): void {
    clearTimeout(this.#holdTimer);
    this.#holdTimer = undefined;
  }

  // Listings.

  #listLater(): void {
    if (this.#stopped || this.#nextListing !== undefined) return;
    if (this.#meanwhile !== undefined) {
      this.#changedMeanwhile = true;
      return;
    }
    const { entries, took, ended } = this.#lastListing ?? { entries: 0, took: 0, ended: 0 };
    const grown = this.#held.size > entries * GROWTH;
    if (this.#listTimer !== undefined && (!grown || this.#listSoon)) return;
    clearTimeout(this.#listTimer);
    this.#listSoon = grown;
    const share = this.#doubtful ? DOUBTFUL_LISTING_SHARE : LISTING_SHARE;
    const rest = ended + took * share - performance.now();
    this.#listTimer = setTimeout(() => this.#listIfChanged(), grown ? 0 : Math.max(LISTING_DELAY_MS, rest));
  }

  async #listIfChanged(): Promise<void> {
    this.#listTimer = undefined;
    try {
      if (this.#find() && this.#mayHaveChanged()) await this.#list(false);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Lists once more after the listing that is under way, which may have passed by what the caller knows to be there. */
  #list(collect: boolean): Promise<string[]> {
    if (this.#nextListing !== undefined) {
      this.#nextListing.collect ||= collect;
      return this.#nextListing.names;
    }
    const next: NextListing = {
      collect,
      names: this.#listings.then(() => {
        this.#nextListing = undefined;
        return this.#read(next.collect);
      }),
    };
    this.#nextListing = next;
    this.#listings = next.names.catch(() => {});
    return next.names;
  }

  /** Reads the directory, then reports what it shows and nobody has seen, in the order of events. */
  async #read(collect: boolean): Promise<string[]> {
    const first = this.#lastListing === undefined;
    const began = performance.now();
    const modified = this.#stat()?.mtime?.getTime() ?? -1;
    const settled = modified >= 0 && Date.now() - modified > SETTLED_MS;
    // What the first listing shows was there before, but for what is dated since it began: that has come meanwhile.
    const now = systemClock();
    const since = formatTime(now);
    const complete = formatTime(now - BigInt(WRITING_MS) * 1_000_000n);
    const isDatedWithin = (time: string) => time >= since && time <= formatTime(systemClock());
    const meanwhile: string[] = this.#meanwhile = [];
    this.#hints?.listing();

    const all: string[] = [];
    const unseen: string[] = [];
    const listed = new NameSet(this.#lastListing?.entries);
    let gone = false;
    try {
      for await (const { name, isDirectory } of Deno.readDir(this.#directory)) {
        if (this.#stopped) break;
        if (!first && !isDirectory && this.#seen.has(name)) {
          // Nearly all of a large directory: it has been looked at before, and is worth no more memory than its place.
          if (listed.add(name) && collect) all.push(name);
          continue;
        }
        const parsed = isDirectory ? undefined : parseName(name);
        if (parsed === undefined || !listed.add(name)) continue;
        if (collect) all.push(name);
        if (!first || isDatedWithin(parsed.time)) unseen.push(name);
      }
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      gone = true;
    } finally {
      this.#meanwhile = undefined;
    }
    if (this.#stopped) return all;

    // A file that came while the directory was read may or may not have been come across.
    for (const name of meanwhile) listed.add(name);
    const news = new Set(unseen.filter((name) => !this.#seen.has(name)));
    const held = new Map(this.#held);
    for (const name of held.keys()) {
      const shown = !listed.add(name);
      // A watch that has just begun may tell of what came before it, and the first listing shows what was there.
      if (!first || !shown) news.add(name);
    }
    this.#held.clear();
    this.#stopHolding();
    // The queue may still hold hints from before and after the listing, with a gap between them.
    this.#doubtful &&= this.#hints !== undefined;
    this.#hints?.listed();
    // A file that came while the directory was read may be in the listing where one that came before it is not. So what is
    // dated since then waits for its hint; or, as long as hints may be missing, for the next listing.
    const arrived: string[] = [];
    for (const name of sortNames([...news])) {
      const { hinted, since } = held.get(name) ?? { hinted: false, since: began };
      const placed = this.#hints === undefined || (hinted && !this.#doubtful) || began - since > HOLD_MS;
      if (placed || timeOf(name) < complete) {
        arrived.push(name);
      } else {
        this.#hold(name, hinted, since);
      }
    }

    // What is no longer there is forgotten with the old set, so that it never outgrows the directory. A directory that is
    // gone may be on its way back, with all that was in it.
    if (gone) arrived.forEach((name) => this.#seen.add(name));
    else this.#seen = listed;
    const ended = performance.now();
    this.#lastListing = { entries: listed.size, took: ended - began, ended, modified, settled };
    for (const name of arrived) this.#listener.arrived(name);
    if (this.#changedMeanwhile) {
      this.#changedMeanwhile = false;
      this.#listLater();
    }
    // What is held back is reported later, so it has not been there yet.
    return all.filter((name) => !this.#held.has(name));
  }
}
