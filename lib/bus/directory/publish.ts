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
import { writeAllSync } from "../../bytes.ts";
import { checkTopic } from "../../event.ts";
import { reasonOf, unlessMissing } from "../../os_error.ts";
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
   * @throws {BusError} if it could not be written; then there is no event, not even a part of it. With `sync`, also if it has
   * been published but may not be safe; the message says so
   */
  // deno-lint-ignore require-await -- so that a refusal is a rejection, as on every bus
  async publish(topic: string, payload: Uint8Array | string, options: PublishOptions = {}): Promise<Published> {
    checkTopic(topic);
    const bytes = typeof payload === "string" ? new TextEncoder().encode(payload) : payload;
    const how = options.via === undefined ? "published" : "linked";
    try {
      for (;;) {
        const moment = this.#nextMoment();
        const name = formatName(moment, topic, how);
        if (publishAs(this.#path, name, bytes, options)) return { id: name, time: formatTime(moment) };
      }
    } catch (error) {
      if (error instanceof BusError) throw error;
      throw new BusError(`cannot publish to ${this.#path}: ${reasonOf(error, this.#path)}`, { cause: error });
    }
  }

  /** There is nothing to let go of. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

/** Publishes under a name, unless somebody else has it or is about to. */
function publishAs(
  directory: string,
  name: string,
  payload: Uint8Array,
  { sync = false, via }: PublishOptions,
): boolean {
  const temporary = `${directory}/tmp/${name}`;
  const published = `${directory}/events/${name}`;
  const file = create(temporary, directory);
  // The temporary file is the lock on its name: where there is one, another writer is at work.
  if (file === undefined) return false;
  try {
    try {
      writeAllSync(file, payload);
      if (sync) file.syncSync();
    } finally {
      file.close();
    }
    if (unlessMissing(() => Deno.lstatSync(published)) !== undefined) {
      Deno.removeSync(temporary);
      return false;
    }
    if (via !== undefined) writeVia(directory, name, via);
    // Opened before the event is published: that they cannot be is then no reason to report one that is.
    const directories = sync ? directoriesOf(directory) : [];
    move(temporary, published, directory);
    syncAll(directories, name);
  } catch (error) {
    try {
      if (via !== undefined) unlessMissing(() => Deno.removeSync(`${directory}/via/${name}`));
      Deno.removeSync(temporary);
    } catch {
      // What went wrong first is what the caller needs to know.
    }
    throw error;
  }
  return true;
}

/** Writes on which buses an event has been, which is there for whoever finds the event. */
function writeVia(directory: string, name: string, via: readonly string[]): void {
  Deno.mkdirSync(`${directory}/via`, { recursive: true });
  Deno.writeTextFileSync(`${directory}/via/${name}`, `${via.join("\n")}\n`);
}

/** Creates a file that did not exist, and the directories around it; `undefined` if it did exist. */
function create(path: string, directory: string): Deno.FsFile | undefined {
  const made = unlessMissing(() => ({ file: createNew(path) }));
  if (made !== undefined) return made.file;
  // Asked for only when it is missing: in the usual case this would be two calls for nothing.
  for (const part of ["tmp", "events"]) {
    try {
      Deno.mkdirSync(`${directory}/${part}`, { recursive: true });
    } catch (error) {
      // A link that leads nowhere is there and is not.
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
      throw new Error(`${directory}/${part} is no directory, or lies behind a link that leads nowhere`);
    }
  }
  return createNew(path);
}

function createNew(path: string): Deno.FsFile | undefined {
  try {
    return Deno.openSync(path, { write: true, createNew: true });
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return undefined;
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

/** The directories whose entries make an event: its own, and those that may have been made for it, up to the bus's own entry. */
function directoriesOf(directory: string): Deno.FsFile[] {
  Deno.mkdirSync(`${directory}/events`, { recursive: true });
  const opened: Deno.FsFile[] = [];
  try {
    for (const path of [`${directory}/events`, directory, `${directory}/..`]) opened.push(Deno.openSync(path));
    return opened;
  } catch (error) {
    for (const file of opened) file.close();
    throw error;
  }
}

/** Makes the renaming last, and closes what was opened for that. */
function syncAll(directories: Deno.FsFile[], name: string): void {
  try {
    for (const opened of directories) opened.syncSync();
  } catch (error) {
    throw new BusError(`published as ${name}, but it may not survive a power cut: ${reasonOf(error)}`, {
      cause: error,
    });
  } finally {
    for (const opened of directories) opened.close();
  }
}
