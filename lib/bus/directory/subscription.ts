/**
 * A subscription to a directory: first the past, a list of names, then its way through the log of arrivals.
 *
 * An event is read from its file when somebody asks for it.
 *
 * @module
 */
import type { Position } from "../../bus.ts";
import type { BusEvent } from "../../event.ts";
import { compileFilters } from "../../filter.ts";
import { PulledSubscription } from "../subscription.ts";
import type { ArrivalLog, LogReader } from "./log.ts";
import { topicOf } from "./name.ts";

/** What a subscription needs of its bus. */
export interface DirectorySubscriptionOptions {
  /** Reads an event; `undefined` if its file has gone, or is none. */
  readonly read: (name: string) => BusEvent | undefined;
  /** What arrives, if the bus finds that it matches a filter of anybody. */
  readonly log: ArrivalLog;
  /** What is wanted; all of them are filters. */
  readonly filters: readonly string[];
  /** The event that it begins after: who asks may know of it sooner than the watch does. */
  readonly after: string | undefined;
  /** Ends the subscription. */
  readonly signal: AbortSignal | undefined;
  /** Is called once, when the subscription ends. */
  readonly release: () => void;
}

/** A position in the order in which events arrived. */
export class DirectorySubscription extends PulledSubscription implements LogReader {
  readonly #read: (name: string) => BusEvent | undefined;
  readonly #log: ArrivalLog;
  readonly #matches: (topic: string) => boolean;
  readonly #after: string | undefined;
  readonly #release: () => void;
  /** The past, in order, and how much of it has been read; `undefined` until it is known. */
  #past: { readonly names: readonly string[]; read: number } | undefined;
  #position: number;

  /** @param options what it needs of its bus */
  constructor(options: DirectorySubscriptionOptions) {
    super(options.signal);
    this.#read = options.read;
    this.#log = options.log;
    this.#matches = compileFilters(options.filters);
    this.#after = options.after;
    this.#release = options.release;
    this.#position = options.log.end;
  }

  get position(): number {
    return this.#position;
  }

  /** Whether an event matches one of the filters. */
  wants(name: string): boolean {
    return this.#matches(topicOf(name));
  }

  /**
   * Begins.
   *
   * @param past the events to read before those of the log, in order
   * @param position where the subscription begins, if it is known
   */
  begin(past: readonly string[], position: Position | undefined): void {
    this.#past = { names: past, read: 0 };
    this.begun(position);
  }

  /** Takes note that an event which it wants is in the log. */
  arrived(position: number): void {
    if (this.#position === Infinity) this.#position = position;
    this.wake();
  }

  protected take(): BusEvent | undefined {
    const past = this.#past;
    if (past === undefined) return undefined;
    while (past.read < past.names.length) {
      const event = this.#read(past.names[past.read++]);
      if (event !== undefined) return event;
    }
    if (past.names.length > 0) this.#past = { names: [], read: 0 };
    while (this.#position < this.#log.end) {
      const name = this.#log.at(this.#position++);
      const event = name !== this.#after && this.wants(name) ? this.#read(name) : undefined;
      if (event !== undefined) return event;
    }
    this.#position = Infinity;
    return undefined;
  }

  /** Ends it with an error, at once: what the directory still holds could only be read with a gap. */
  override fail(error: unknown): void {
    this.release();
    super.fail(error);
  }

  protected release(): void {
    this.#past = undefined;
    this.#release();
  }
}
