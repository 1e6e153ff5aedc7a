/**
 * The JetStream stream that keeps a bus's events: it is found, or made, and asked what it holds.
 *
 * @module
 */
import { BusError } from "../../bus.ts";
import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  errors,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StreamInfo,
} from "./library.ts";
import { type Link, reasonOf } from "./link.ts";
import { normalTime, streamMark } from "./mark.ts";
import { covers, subjectsOf } from "./subject.ts";

/** Which stream, and whether it is to be made if there is none. */
export interface StreamChoice {
  /** What it is called. */
  readonly name: string;
  /** Whether it is made if there is none. */
  readonly create: boolean;
}

/** What a stream holds. */
export interface StreamState {
  /** The sequence of its first event; one more than `last`, where it holds none. */
  readonly first: number;
  /** When that was stored. */
  readonly firstTime: string;
  /** The sequence of its last event; 0 if there never was one. */
  readonly last: number;
  /** When that was stored. */
  readonly lastTime: string;
}

/** How many requests of those who read the past may be under way at once: a thousand may come back in one moment. */
const MAX_READS = 32;

const NANOSECONDS_A_SECOND = 1e9;
/** How long a consumer outlives the last who asked it for something, in seconds. */
const CONSUMER_SECONDS = 30;
/** How long to wait before the server is asked again, in milliseconds. */
const RETRY_MS = 250;
/** JetStream's own errors for a stream and for a consumer that is not there. */
const STREAM_NOT_FOUND = 10_059;
const CONSUMER_NOT_FOUND = 10_014;

/** A stream. */
export class Stream {
  /** What it is called. */
  readonly name: string;
  /** The connection to it. */
  readonly link: Link;
  /** What its events' subjects are below. */
  readonly prefix: string;
  /** Asks the server to do what is done to streams. */
  readonly manager: JetStreamManager;
  #mark = "";
  #duplicateWindowMs = 0;
  #reads = 0;
  readonly #readers: (() => void)[] = [];

  private constructor(link: Link, manager: JetStreamManager, name: string, prefix: string) {
    this.link = link;
    this.manager = manager;
    this.name = name;
    this.prefix = prefix;
  }

  /**
   * Finds it, or makes it: one that keeps all it gets, in files, until somebody says otherwise.
   *
   * @throws {BusError} if it is not there, or not one for this bus
   */
  static async open(link: Link, prefix: string, { name, create }: StreamChoice): Promise<Stream> {
    const where = `the stream ${JSON.stringify(name)} at ${link.shown}`;
    try {
      const manager = await jetstreamManager(link.connection, { checkAPI: false });
      const stream = new Stream(link, manager, name, prefix);
      const info = await stream.#find(create);
      stream.#learn(info);
      const subjects = info.config.subjects ?? [];
      if (!subjects.some((subject) => covers(subject, `${prefix}.>`))) {
        throw new BusError(
          `${where} does not keep this bus: it is for ${
            subjects.join(" and ") || "no subjects"
          }, and should be for ${prefix}.>`,
        );
      }
      return stream;
    } catch (error) {
      if (error instanceof BusError) throw error;
      if (isMissing(error)) {
        throw new BusError(`${where} does not exist: it can be made, with --create-stream`, { cause: error });
      }
      throw new BusError(`cannot use ${where}: ${jetStreamReason(error)}`, { cause: error });
    }
  }

  /** What stands for it in the ids of its events. */
  get mark(): string {
    return this.#mark;
  }

  /** For how long it knows that it has an event already which is sent again, in milliseconds. */
  get duplicateWindowMs(): number {
    return this.#duplicateWindowMs;
  }

  /**
   * Asks what it holds. Its {@linkcode mark} is another one from then on if it has been made anew.
   *
   * @throws {Error} if the server does not say
   */
  async info(): Promise<StreamState> {
    return this.#learn(await this.manager.streams.info(this.name));
  }

  /** The subjects that a consumer of it has to ask for, so that it gets what matches one of the filters. */
  subjectsOf(filters: readonly string[]): string[] {
    // The server counts a release before this one as too old for more.
    return subjectsOf(this.prefix, filters, this.#takesManySubjects() ? undefined : 1);
  }

  /**
   * What all consumers have in common: they are read once, in order, by whoever makes them, and cost the server no disk.
   *
   * @param after the sequence that they begin after
   * @param subjects which events they give
   */
  consumer(after: number, subjects: readonly string[]): Partial<ConsumerConfig> {
    return {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: after + 1,
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: CONSUMER_SECONDS * NANOSECONDS_A_SECOND,
      ...subjects.length === 1 ? { filter_subject: subjects[0] } : { filter_subjects: [...subjects] },
    };
  }

  /** Removes a consumer. Whether that has worked need not be known: it ends by itself, later. */
  removeConsumer(name: string): void {
    this.manager.consumers.delete(this.name, name).catch(() => {});
  }

  /**
   * Asks the server for something, again if need be: it may be away, or not ready yet.
   *
   * @param ask what is done
   * @param isWanted whether to ask again
   * @throws {BusError} if the server says that it cannot be, or it is wanted no more
   */
  async insist<Answer>(ask: () => Promise<Answer>, isWanted: () => boolean): Promise<Answer> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (error instanceof BusError) throw error;
        const where = `the stream ${JSON.stringify(this.name)} at ${this.link.shown}`;
        if (isMissing(error)) throw new BusError(`${where} has been removed`, { cause: error });
        if (isFinal(error) || !isWanted()) {
          throw new BusError(`cannot read ${where}: ${jetStreamReason(error)}`, { cause: error });
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  /** Does something that asks the server for a lot, when not too many others do. */
  async inTurn<Result>(read: () => Promise<Result>): Promise<Result> {
    if (this.#reads >= MAX_READS) await new Promise<void>((resolve) => this.#readers.push(resolve));
    else this.#reads++;
    try {
      return await read();
    } finally {
      const next = this.#readers.shift();
      if (next === undefined) this.#reads--;
      else next();
    }
  }

  async #find(create: boolean): Promise<StreamInfo> {
    const { streams } = this.manager;
    try {
      return await streams.info(this.name);
    } catch (error) {
      if (!create || !isMissing(error)) throw error;
    }
    try {
      return await streams.add({
        name: this.name,
        subjects: [`${this.prefix}.>`],
        storage: StorageType.File,
        retention: RetentionPolicy.Limits,
      });
    } catch (error) {
      // Somebody else who was to make it may have been as quick: then it is there now, and what the server said of ours is nothing.
      return await streams.info(this.name).catch(() => {
        throw error;
      });
    }
  }

  #learn({ created, config, state }: StreamInfo): StreamState {
    // The types have it as a text, or as a moment, from one release to the next.
    this.#mark = streamMark(`${created}`);
    this.#duplicateWindowMs = config.duplicate_window / 1e6;
    const { first_seq, first_ts, last_seq, last_ts } = state;
    return {
      // A stream that never held anything says 0.
      first: Math.max(first_seq, 1),
      firstTime: normalTime(`${first_ts}`),
      last: last_seq,
      lastTime: normalTime(`${last_ts}`),
    };
  }

  #takesManySubjects(): boolean {
    const [major = 0, minor = 0] = (this.link.connection.info?.version ?? "").split(".").map(Number);
    return major > 2 || (major === 2 && minor >= 10);
  }
}

/** Whether to ask again would bring the same. */
function isFinal(error: unknown): boolean {
  if (error instanceof errors.PermissionViolationError || error instanceof errors.ClosedConnectionError) return true;
  return error instanceof JetStreamApiError && error.status < 500 && error.code !== CONSUMER_NOT_FOUND;
}

function isMissing(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === STREAM_NOT_FOUND;
}

function jetStreamReason(error: unknown): string {
  const reason = reasonOf(error);
  return /jetstream (is )?not enabled/i.test(reason)
    ? "the server has no JetStream, which it is started with by -js"
    : reason;
}
