/**
 * The file behind `--cursor`: which events have been delivered, so that another run goes on where this one ended.
 *
 * Time inversions make that more than one position: an event that comes after the newest one seen may lie before it. So the
 * file holds an id up to which all is done with, and those seen since, as far back as the window reaches. What has been removed
 * before it was seen is told once, so up to where that has been is in the file, too.
 *
 * ```
 * ollie cursor 1
 * 5d41402a {"after":"2026-05-08T12:34:56,123456789+00:00_color","time":"2026-05-08T12:34:56.123456789Z"}
 * 8d777f38 {"seen":"2026-05-08T12:35:01,000000001+00:00_color","time":"2026-05-08T12:35:01.000000001Z"}
 * 2a5b8d11 {"gone":"2026-05-08T12:35:00,000000001+00:00_color","time":"2026-05-08T12:35:00.000000001Z"}
 * ```
 *
 * It is replaced atomically, when it is opened and when it has grown; in between, each event appends a line. Writing all of it
 * for each event would cost more than delivering the event as soon as some thousands were published within one window. Each
 * line starts with a checksum of all before it and itself. A last line without its newline belongs to an event that was being
 * delivered when the process was killed, and does not count; anything else that does not add up is reported, not guessed at.
 *
 * @module
 */
import { writeAllSync } from "../bytes.ts";
import { BusError, type EventMark, type Position } from "../bus.ts";
import { isAfter } from "../bus/place.ts";
import { moveWhereNoneIs, openLocked, replaceLocked } from "../locked_file.ts";
import { reasonOf } from "../os_error.ts";
import { directoryOf } from "../path.ts";

const HEADER = "ollie cursor 1";

/** How many lines may be appended, beyond as many as it had, before it is written anew. */
const SPARE_LINES = 1000;

/** Any beginning of a line that is appended. */
const TORN_LINE =
  /^(?:[0-9a-f]{0,8}|[0-9a-f]{8} (?:\{|\{"|\{"(?:s|se|see|g|go|gon)|\{"(?:seen|gone)(?:"|":|":"[^\0]*)?)?)$/;

/** The checksum of nothing, in 32-bit FNV-1a. */
const CHECKSUM_BASIS = 0x811c9dc5;

/** What a line holds: of the first, `after`; of the others, one of the other two. */
interface CursorRecord {
  readonly after?: string | null;
  readonly seen?: string;
  readonly gone?: string;
  readonly time: string;
}

/** Remembers what has been delivered. The process that has opened it is the only one that may, until it lets go of it. */
export class Cursor implements Disposable {
  readonly #path: string;
  readonly #window: number;
  /** All up to this event is done with; `undefined` stands for the start. */
  #after: EventMark | undefined;
  #seen = new Map<string, string>();
  /** What has been removed up to this event is known to be gone. */
  #gone: EventMark | undefined;
  #newest = "";
  #file: Deno.FsFile | undefined;
  #checksum = CHECKSUM_BASIS;
  /** How many lines the file had when it was last replaced, and how many have been appended since. */
  #kept = 0;
  #appended = 0;

  private constructor(path: string, window: number) {
    this.#path = path;
    this.#window = window;
  }

  /**
   * Opens a cursor. The file need not exist.
   *
   * @param path the file
   * @param window how far back, in milliseconds, events are remembered one by one
   * @throws {BusError} if the file is damaged, in use, or cannot be read and written
   */
  static async open(path: string, window: number): Promise<Cursor> {
    const cursor = new Cursor(targetOf(path), window);
    try {
      using file = await openLocked(path);
      if (file !== undefined) {
        cursor.#load(Deno.readTextFileSync(path));
        cursor.#replace();
      }
    } catch (error) {
      throw cursor.#failure(error);
    }
    return cursor;
  }

  /** The place where a subscription goes on; `undefined` if there was no file. */
  get position(): Position | undefined {
    if (this.#file === undefined) return undefined;
    const seen = Array.from(this.#seen, ([id, time]) => ({ id, time }));
    return { after: this.#after, seen, ...this.#gone === undefined ? {} : { gone: this.#gone } };
  }

  /**
   * Writes a file where there was none.
   *
   * @param position where the subscription begins
   * @throws {BusError} if it cannot be written, or another process has written one meanwhile
   */
  create({ after, seen, gone }: Position): void {
    this.#after = after;
    this.#gone = gone;
    for (const { id, time } of seen) this.#note(id, time);
    try {
      this.#replace(moveWhereNoneIs);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /**
   * Takes note that an event has been delivered.
   *
   * @throws {BusError} if it cannot be written
   */
  record({ id, time }: EventMark): void {
    this.#note(id, time);
    this.#append({ seen: id, time });
  }

  #append(record: CursorRecord): void {
    try {
      if (this.#appended > SPARE_LINES + this.#kept) this.#replace();
      else if (this.#file !== undefined) writeAllSync(this.#file, this.#line(JSON.stringify(record)));
      this.#appended++;
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /**
   * Takes note that what has been removed up to an event is known to be gone.
   *
   * @throws {BusError} if it cannot be written
   */
  recordGone(mark: EventMark): void {
    // What is dated in the future does not stand for all that comes until then.
    if (Date.parse(mark.time) > Date.now() || (this.#gone !== undefined && !isAfter(mark, this.#gone))) return;
    this.#gone = mark;
    this.#append({ gone: mark.id, time: mark.time });
  }

  /** Lets go of the file. */
  [Symbol.dispose](): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #failure(error: unknown): BusError {
    return new BusError(`cannot use the cursor ${this.#path}: ${reasonOf(error, directoryOf(this.#path))}`, {
      cause: error,
    });
  }

  #note(id: string, time: string): void {
    this.#seen.set(id, time);
    if (time > this.#newest) this.#newest = time;
  }

  /** Reads the file's text. */
  #load(text: string): void {
    const lines = text.split("\n");
    // What follows the last newline: nothing, or the line that was being written when the process was killed.
    const torn = lines.pop() ?? "";
    if (lines.shift() !== HEADER) throw new Error(`it is damaged: it does not begin with "${HEADER}"`);
    lines.forEach((line, i) => {
      const record = this.#record(line);
      if (record === undefined || (record.after === undefined) === (i === 0)) {
        throw new Error(`it is damaged: line ${i + 2} is not what was written there`);
      }
      if (record.seen !== undefined) this.#note(record.seen, record.time);
      else if (record.gone !== undefined) this.#gone = { id: record.gone, time: record.time };
      else if (record.after) this.#after = { id: record.after, time: record.time };
    });
    if (!TORN_LINE.test(torn)) throw new Error("it is damaged: its end is not what was written there");
    if (lines.length === 0) throw new Error("it is damaged: it ends after its first line");
  }

  /** What a line holds, if it is as it was written. */
  #record(line: string): CursorRecord | undefined {
    const json = line.slice(9);
    const known = this.#line(json) === `${line}\n`;
    // What has the right checksum was written by this class, which writes nothing else.
    return known ? JSON.parse(json) : undefined;
  }

  /** A record as the file's next line. */
  #line(json: string): string {
    for (let i = 0; i < json.length; i++) {
      this.#checksum = Math.imul(this.#checksum ^ json.charCodeAt(i), 0x01000193);
    }
    return `${(this.#checksum >>> 0).toString(16).padStart(8, "0")} ${json}\n`;
  }

  /** Writes the file anew, with what is still needed of it, and puts it into its place. */
  #replace(put?: typeof moveWhereNoneIs): void {
    this.#forget();
    this.#checksum = CHECKSUM_BASIS;
    this.#appended = 0;
    this.#kept = this.#seen.size;
    const records: CursorRecord[] = [
      { after: this.#after?.id ?? null, time: this.#after?.time ?? "" },
      ...this.#gone === undefined ? [] : [{ gone: this.#gone.id, time: this.#gone.time }],
      ...Array.from(this.#seen, ([seen, time]) => ({ seen, time })),
    ];
    const text = `${HEADER}\n${records.map((record) => this.#line(JSON.stringify(record))).join("")}`;
    const file = replaceLocked(this.#path, text, put);
    this.#file?.close();
    this.#file = file;
  }

  /** Forgets what the window has left behind, of which the last is the new place to begin after. */
  #forget(): void {
    // An event from a clock that is ahead does not take the window with it.
    const newest = Math.min(Date.parse(this.#newest), Date.now());
    if (Number.isNaN(newest)) return;
    // Without its Z, a time in milliseconds sorts before all the nanoseconds within them.
    const edge = new Date(newest - this.#window).toISOString().slice(0, -1);
    for (const [id, time] of this.#seen) {
      if (time >= edge) continue;
      this.#seen.delete(id);
      if (this.#after === undefined || isAfter({ id, time }, this.#after)) this.#after = { id, time };
    }
  }
}

/** Where a link leads, so that it is the file that is replaced, and not the link. */
function targetOf(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch {
    return path;
  }
}
