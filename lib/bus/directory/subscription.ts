/**
 * A subscription to a directory: first the past, a list of names, then its way through the log of arrivals.
 *
 * An event is read from its file when somebody asks for it. Where the file has been removed by then, that is told in its place.
 *
 * @module
 */
import { GapError, type Position } from "../../bus.ts";
import type { BusEvent } from "../../event.ts";
import { compileFilters } from "../../filter.ts";
import { PulledSubscription } from "../subscription.ts";
import type { EventFiles } from "./event_files.ts";
import type { ArrivalLog, LogReader } from "./log.ts";
import { topicOf } from "./name.ts";
import { countUpTo, lastOf, markOf } from "./order.ts";

/** What a subscription needs of its bus. */
export interface DirectorySubscriptionOptions {
  /** What the directory is called in errors. */
  readonly bus: string;
  /** Reads an event. */
  readonly read: EventFiles["read"];
  /** What arrives, if the bus finds that it matches a filter of anybody. */
  readonly log: ArrivalLog;
  /** What is wanted; all of them are filters. */
  readonly filters: readonly string[];
  /** Where it comes back to, if it does. */
  readonly place: Position | undefined;
  /** Ends the subscription. */
  readonly signal: AbortSignal | undefined;
  /** Is called once, when the subscription ends. */
  readonly release: () => void;
}

/** What a subscription begins with. */
export interface Beginning {
  /** The events to read before those of the log, in order. */
  readonly past: readonly string[];
  /** The last of those that it would have had besides, but that have been removed. */
  readonly missed?: string;
  /** Where it begins, if that is known. */
  readonly position?: Position;
}

/** The past as it is read, in order. */
interface Past {
  readonly names: readonly string[];
  /** How many of them have been read. */
  read: number;
  /** After how many of them there is a gap, and the last event in it. */
  readonly gapAt: number | undefined;
  readonly missed: string | undefined;
}

const NO_PAST: Past = { names: [], read: 0, gapAt: undefined, missed: undefined };

/** A position in the order in which events arrived. */
export class DirectorySubscription extends PulledSubscription implements LogReader {
  readonly #bus: string;
  readonly #read: EventFiles["read"];
  readonly #log: ArrivalLog;
  readonly #matches: (topic: string) => boolean;
  /** What it is not to have: who comes back may know of an event sooner than the watch does. */
  readonly #done: ReadonlySet<string>;
  readonly #release: () => void;
  /** The past; `undefined` until it is known. */
  #past: Past | undefined;
  /** The last event that has been found to be gone, until that has been told, and what comes after it. */
  #missed: string | undefined;
  #held: BusEvent | undefined;
  /** The last event that it has had. */
  #last: string | undefined;
  /** Whether it was to have the next event: where it asked for what there is, the past begins with the first that it finds. */
  #isOwed: boolean;
  #position: number;

  /** @param options what it needs of its bus */
  constructor(options: DirectorySubscriptionOptions) {
    super(options.signal);
    const { after, seen } = options.place ?? { after: undefined, seen: [] };
    this.#bus = options.bus;
    this.#read = options.read;
    this.#log = options.log;
    this.#matches = compileFilters(options.filters);
    this.#done = new Set([...after === undefined ? [] : [after], ...seen].map(({ id }) => id));
    this.#last = lastOf(this.#done);
    this.#isOwed = options.place !== undefined;
    this.#release = options.release;
    this.#position = options.log.end;
  }

  get position(): number {
    return this.#position;
  }

  /** Whether an event matches one of the filters. */
  matches(name: string): boolean {
    return this.#matches(topicOf(name));
  }

  /** Whether it does, and has not been had before. */
  wants(name: string): boolean {
    return this.matches(name) && !this.#done.has(name);
  }

  /** Begins. */
  begin({ past, missed, position }: Beginning): void {
    const gapAt = missed === undefined ? undefined : countUpTo(missed, past);
    this.#past = { names: past, read: 0, missed, gapAt };
    this.begun(position);
  }

  /** Takes note that an event which it wants is in the log. */
  arrived(position: number): void {
    if (this.#position === Infinity) this.#position = position;
    this.wake();
  }

  protected take(): BusEvent | undefined {
    const event = this.#held ?? this.#next();
    const missed = this.#missed;
    if (missed !== undefined) {
      this.#missed = undefined;
      this.#held = event;
      throw new GapError(this.#bus, { after: this.#last, until: markOf(missed) });
    }
    this.#held = undefined;
    if (event !== undefined) this.#last = event.id;
    return event;
  }

  /** The next event that can be read; takes note of those before it that are gone. */
  #next(): BusEvent | undefined {
    const past = this.#past;
    if (past === undefined) return undefined;
    while (past.read < past.names.length) {
      if (past.read === past.gapAt) this.#misses(past.missed);
      const event = this.#look(past.names[past.read++]);
      if (event !== undefined) return event;
    }
    if (past.read === past.gapAt) this.#misses(past.missed);
    this.#past = NO_PAST;
    // From here on, all that arrives is what it asked for.
    this.#isOwed = true;
    while (this.#position < this.#log.end) {
      const name = this.#log.at(this.#position++);
      const event = this.wants(name) ? this.#look(name) : undefined;
      if (event !== undefined) return event;
    }
    this.#position = Infinity;
    return undefined;
  }

  #look(name: string): BusEvent | undefined {
    const event = this.#read(name);
    if (event === "gone") this.#misses(name);
    if (typeof event === "string") return undefined;
    this.#isOwed = true;
    return event;
  }

  #misses(name: string | undefined): void {
    if (this.#isOwed) this.#missed = lastOf([this.#missed, name]);
  }

  /** Ends it with an error, at once: what the directory still holds could only be read with a gap. */
  override fail(error: unknown): void {
    this.release();
    super.fail(error);
  }

  protected release(): void {
    this.#past = undefined;
    this.#held = undefined;
    this.#release();
  }
}
