/**
 * Publishing into a directory: an event is written in `tmp/`, then renamed into `events/`, so that nobody ever sees part of
 * it. A program that only publishes needs no more of the bus than this.
 *
 * All of it is synchronous. Five short calls take some 50 µs; as asynchronous ones, each with a trip to another thread, they
 * would take several times as long, and a process that publishes and ends would wait for the threads to start.
 *
 * @module
 */
import { BusError, type Published, type Publisher, type PublishOptions } from "../../bus.ts";
import { checkTopic } from "../../event.ts";
import { reasonOf } from "../../os_error.ts";
import { type Clock, formatTime, increasing, systemClock } from "../../time.ts";
import { formatName } from "./name.ts";

/** Publishes into one directory; it and what belongs into it are made if they are missing. */
export class DirectoryPublisher implements Publisher {
  readonly #path: string;
  readonly #nextMoment: Clock;

  /**
   * @param path the directory
   * @param clock tells the time; where it repeats itself, events take the nanoseconds after
   */
  constructor(path: string, clock: Clock = systemClock) {
    this.#path = path;
    this.#nextMoment = increasing(clock);
  }

  /**
   * Publishes one event.
   *
   * @throws {TopicError} if the topic breaks a rule
   * @throws {BusError} if it could not be written; then there is no event, not even a part of it
   */
  // deno-lint-ignore require-await -- so that a refusal is a rejection, as on every bus
  async publish(topic: string, payload: Uint8Array | string, options: PublishOptions = {}): Promise<Published> {
    checkTopic(topic);
    const bytes = typeof payload === "string" ? new TextEncoder().encode(payload) : payload;
    try {
      for (;;) {
        const moment = this.#nextMoment();
        const name = formatName(moment, topic);
        if (publishAs(this.#path, name, bytes, options.sync ?? false)) return { id: name, time: formatTime(moment) };
      }
    } catch (error) {
      throw new BusError(`cannot publish to ${this.#path}: ${reasonOf(error)}`, { cause: error });
    }
  }

  /** There is nothing to let go of. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

/** Publishes under a name, unless somebody else has it or is about to. */
function publishAs(directory: string, name: string, payload: Uint8Array, sync: boolean): boolean {
  const temporary = `${directory}/tmp/${name}`;
  const published = `${directory}/events/${name}`;
  const file = create(temporary, directory);
  // The temporary file is the lock on its name: where there is one, another writer is at work.
  if (file === undefined) return false;
  try {
    try {
      for (let done = 0; done < payload.length;) done += file.writeSync(payload.subarray(done));
      if (sync) file.syncSync();
    } finally {
      file.close();
    }
    if (exists(published)) {
      Deno.removeSync(temporary);
      return false;
    }
    move(temporary, published, directory);
  } catch (error) {
    try {
      Deno.removeSync(temporary);
    } catch {
      // What went wrong first is what the caller needs to know.
    }
    throw error;
  }
  if (sync) syncDirectories(directory);
  return true;
}

/** Creates a file that did not exist, and the directories around it; `undefined` if it did exist. */
function create(path: string, directory: string): Deno.FsFile | undefined {
  const options = { write: true, createNew: true };
  try {
    try {
      return Deno.openSync(path, options);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    // Asked for only when it is missing: in the usual case this would be two calls for nothing.
    Deno.mkdirSync(`${directory}/tmp`, { recursive: true });
    Deno.mkdirSync(`${directory}/events`, { recursive: true });
    return Deno.openSync(path, options);
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return undefined;
    throw error;
  }
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Renames the temporary file into `events/`, which somebody may have removed. */
function move(temporary: string, published: string, directory: string): void {
  try {
    Deno.renameSync(temporary, published);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    Deno.mkdirSync(`${directory}/events`, { recursive: true });
    Deno.renameSync(temporary, published);
  }
}

/** Makes the rename last: the event's new name, and the names of the directories that may have been made for it. */
function syncDirectories(directory: string): void {
  for (const path of [`${directory}/events`, directory]) {
    using opened = Deno.openSync(path);
    opened.syncSync();
  }
}
