/**
 * Which events of a directory are to be removed.
 *
 * @module
 */
import { unlessMissing } from "../../os_error.ts";
import { formatTime } from "../../time.ts";
import { Excess } from "./excess.ts";
import { sortNames, timeOf } from "./name.ts";

/** What is to stay in a directory. An event goes if any of the limits says so. */
export interface PruneLimits {
  /**
   * How old an event may be, in milliseconds, by its name and by when its file was last written: what a publisher whose clock is behind
   * has just published is not old.
   */
  readonly olderThan?: number;
  /** How many events there may be. The newest stay. */
  readonly keep?: number;
  /** How many bytes the payloads of all may have together. The newest stay. */
  readonly maxBytes?: number;
}

/** An event that is to be removed. */
export interface OutdatedEvent {
  /** The name of its file. */
  readonly name: string;
  /** How long its payload is, in bytes. */
  readonly bytes: number;
}

/** The events that some limits do not let stay. */
export class OutdatedEvents {
  readonly #directory: string;
  readonly #excesses: readonly Excess[];
  readonly #oldest: number;
  #ahead = 0;

  /**
   * @param bus the directory
   * @param limits what is to stay
   */
  constructor(bus: string, { olderThan, keep, maxBytes }: PruneLimits) {
    this.#directory = `${bus}/events`;
    this.#oldest = olderThan === undefined ? 0 : Math.max(0, Date.now() - olderThan);
    const excesses: Excess[] = [];
    if (keep !== undefined) excesses.push(new Excess(keep, () => 1));
    if (maxBytes !== undefined) excesses.push(new Excess(maxBytes, (name) => this.#stat(name)?.size ?? 0));
    this.#excesses = excesses;
  }

  /**
   * How many events are dated in the future. They are no part of this before their time has come: the clock of who published them
   * is ahead, and if they counted as the newest, all that others publish meanwhile would go instead of them.
   */
  get ahead(): number {
    return this.#ahead;
  }

  /**
   * Finds them.
   *
   * @param turn is called for each file that is looked at, and waited for
   * @returns the names of their files, in the order of events, and perhaps of some that are not as old as they say: {@linkcode check}
   * tells
   */
  async find(turn: () => Promise<void> | undefined): Promise<readonly string[]> {
    if (this.#excesses.length > 0) {
      await this.#each(turn, (name, time) => {
        for (const excess of this.#excesses) excess.count(name, time);
      });
      for (const excess of this.#excesses) excess.counted();
    }
    const names: string[] = [];
    const oldest = timeAt(this.#oldest);
    await this.#each(turn, (name, time) => {
      let mayGo = time < oldest;
      for (const excess of this.#excesses) mayGo = excess.look(name, time) || mayGo;
      if (mayGo) names.push(name);
    });
    for (const excess of this.#excesses) excess.looked();
    return sortNames(names.filter((name) => timeOf(name) < oldest || this.#isExcess(name)));
  }

  /**
   * Looks at one of those that were found.
   *
   * @param name of its file
   * @returns `undefined` if it is to stay after all, or has gone
   */
  check(name: string): OutdatedEvent | undefined {
    const info = this.#stat(name);
    if (info === undefined) return undefined;
    const isYoung = (info.mtime?.getTime() ?? 0) >= this.#oldest;
    return isYoung && !this.#isExcess(name) ? undefined : { name, bytes: info.size };
  }

  #isExcess(name: string): boolean {
    const time = timeOf(name);
    return this.#excesses.some((excess) => excess.has(name, time));
  }

  async #each(turn: () => Promise<void> | undefined, look: (name: string, time: string) => void): Promise<void> {
    let now = timeAt(Date.now() + 1);
    this.#ahead = 0;
    for await (const { name, isFile, isSymlink } of Deno.readDir(this.#directory)) {
      await turn();
      const time = isFile || isSymlink ? timeOf(name) : "";
      if (time === "") continue;
      // Others publish meanwhile.
      if (time >= now) now = timeAt(Date.now() + 1);
      if (time < now) look(name, time);
      else this.#ahead++;
    }
  }

  #stat(name: string): Deno.FileInfo | undefined {
    return unlessMissing(() => Deno.lstatSync(`${this.#directory}/${name}`));
  }
}

function timeAt(milliseconds: number): string {
  return formatTime(BigInt(milliseconds) * 1_000_000n);
}
