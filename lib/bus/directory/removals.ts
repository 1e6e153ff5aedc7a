/**
 * Which events have been removed from a directory, as far as somebody who comes back to it may have missed them.
 *
 * Of the last ten thousand, each is known by its name, so that whoever has had just those is told of nothing. Of earlier ones only the
 * last of each topic is, so that it makes no difference to a subscriber what has been removed of topics that it does not want,
 * however long ago the last event came that it did. Where there are too many topics for that, all that is known of the
 * earliest is how far they reach.
 *
 * @module
 */
import type { Position } from "../../bus.ts";
import { sortNames, topicOf } from "./name.ts";
import { lastOf, namesAfter } from "./order.ts";

/** What says which kind of text it is. */
const FORMAT = "ollie pruned 1";

/** How many names are kept. */
const MAX_NAMES = 10_000;

/** What is told of removals, as it is written. */
interface RemovalRecord {
  readonly format: typeof FORMAT;
  /** Those that are about to be removed, or have been. */
  readonly going: readonly string[];
  /** Those that have been removed, in the order in which they were. */
  readonly gone: readonly string[];
  /** Up to this one, others with the topic of a later one have been removed. */
  readonly thinned?: string;
  /** Up to this one, any may have been removed. */
  readonly until?: string;
}

/** What has been removed from one directory. */
export class Removals {
  /** What has been removed where nothing is known to have been. */
  static readonly NONE: Removals = new Removals({ format: FORMAT, going: [], gone: [] });

  readonly #record: RemovalRecord;
  #sorted: readonly string[] | undefined;

  private constructor(record: RemovalRecord) {
    this.#record = record;
  }

  /**
   * Reads what {@linkcode text} is.
   *
   * @throws {Error} if it is something else
   */
  static parse(text: string): Removals {
    let record: Partial<RemovalRecord> | null = null;
    try {
      record = JSON.parse(text);
    } catch {
      // As below.
    }
    if (record?.format !== FORMAT) throw new Error(`it does not say "${FORMAT}"`);
    const { going, gone, thinned, until } = record;
    const isName = (name: unknown) => typeof name === "string";
    if (![going, gone].every((names) => Array.isArray(names) && names.every(isName))) throw new Error("it lacks names");
    if (![thinned, until].every((name) => name === undefined || isName(name))) throw new Error("it lacks a name");
    // The lines before have made sure of that.
    return new Removals(record as RemovalRecord);
  }

  /** This, to be kept in a file. */
  get text(): string {
    return `${JSON.stringify(this.#record)}\n`;
  }

  /** Those that are about to be removed, or have been. */
  get going(): readonly string[] {
    return this.#record.going;
  }

  /** The last one that has been removed or is about to be. */
  get last(): string | undefined {
    return this.#names.at(-1) ?? this.#record.until;
  }

  /** This, with some events that are about to be removed in place of others. */
  withGoing(going: readonly string[]): Removals {
    return new Removals({ ...this.#record, going });
  }

  /** This, with more events that have been removed, and none that are about to be. */
  withGone(names: readonly string[]): Removals {
    const known = new Set(names);
    const gone = [...this.#record.gone.filter((name) => !known.has(name)), ...names];
    return new Removals(thinned({ ...this.#record, gone, going: [] }));
  }

  /**
   * Finds out what somebody misses who comes back to a place.
   *
   * @param place where they are
   * @param wants whether they want an event
   * @param isThere whether an event is still there, or there again
   * @returns the last event that is gone and that they have not had; `undefined` if there is none
   */
  missedSince(
    { after, seen, gone }: Position,
    wants: (name: string) => boolean,
    isThere: (name: string) => boolean,
  ): string | undefined {
    const place = lastOf([after?.id, gone?.id]);
    const { thinned, until } = this.#record;
    const isPassed = (name: string | undefined) => name === undefined || lastOf([name, place]) === place;
    if (isPassed(this.last)) return undefined;
    const missing = namesAfter(place, this.#names).filter((name) => wants(name) && !isThere(name));
    const had = new Set(seen.map(({ id }) => id));
    const missed = missing.filter((name) => !had.has(name));
    // Somebody who has had these may have missed others of their topics.
    const doubtful = isPassed(thinned) ? undefined : missing.at(-1);
    return lastOf([missed.at(-1), doubtful, isPassed(until) ? undefined : until]);
  }

  /** All names, in the order of events. */
  get #names(): readonly string[] {
    return this.#sorted ??= sortNames([...this.#record.gone, ...this.#record.going]);
  }
}

/** The same with no more names than are to be kept. */
function thinned(record: RemovalRecord): RemovalRecord {
  if (record.gone.length <= MAX_NAMES) return record;
  const lasts = new Map<string, string>();
  for (const name of sortNames([...record.gone])) lasts.set(topicOf(name), name);
  const excess = record.gone.length - MAX_NAMES;
  const dropped = new Set<string>();
  for (const name of record.gone) {
    if (dropped.size < excess && lasts.get(topicOf(name)) !== name) dropped.add(name);
  }
  const kept = record.gone.filter((name) => !dropped.has(name));
  const early = new Set(sortNames([...kept]).slice(0, excess - dropped.size));
  return {
    ...record,
    gone: kept.filter((name) => !early.has(name)),
    thinned: lastOf([record.thinned, ...dropped]),
    until: lastOf([record.until, ...early]),
  };
}
