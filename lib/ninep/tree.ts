/**
 * The files by which a bus is used over 9P.
 *
 * | file | mode | what it does |
 * | --- | --- | --- |
 * | `event` | rw | the events as text, one a read: `topic payload` |
 * | `event.json` | rw | the same, as JSON: `{"id","time","topic","payload"}` |
 * | `pub` | w | publishes each line: `topic payload` |
 * | `pub.json` | rw | the same, as JSON: `{"topic","payload"}`; read it for each event's `{"id","time"}` |
 * | `stats` | r | counters: `name value`, on a line each |
 * | `id` | r | the bus's identity, on a line |
 *
 * @module
 */
import type { Bus } from "../bus.ts";
import { concatenated } from "../bytes.ts";
import type { BusEvent } from "../event.ts";
import { isVia, MAX_HOPS } from "../identity.ts";
import { base64JsonOf, fromBase64, jsonOf, parseJson, payloadOfJson, textOf } from "../format.ts";
import { Errno, NinepError, refusal } from "./error.ts";
import type { Directory, File, OpenFile, OpenMode } from "./file.ts";
import { DMDIR, QTDIR, QTFILE, type Stat } from "./message.ts";
import type { Counters } from "./tree/counters.ts";
import { type EventFormat, EventStream } from "./tree/event.ts";
import { FixedText } from "./tree/fixed_text.ts";
import { asNinepError, textIn } from "./tree/refusal.ts";
import { LinePublisher, type Publication } from "./tree/pub.ts";

/** How an {@linkcode EventTree} may differ from the usual. */
export interface EventTreeOptions {
  /** More lines of `stats`, which come first: what only the server knows. */
  readonly stats?: () => Readonly<Record<string, number>>;
}

/** Whom a mount shows as the owner. */
const NOBODY = 65_534;

const utf8 = new TextEncoder();
const SPACE = 32;
const NEWLINE = Uint8Array.of(10);

const TEXT: EventFormat = {
  record: once(textOf),
  check({ base64 }) {
    if (base64) throw new NinepError("payload=base64 is for event.json: event has payloads as they are", Errno.EINVAL);
  },
};

const toJson = once((event) => utf8.encode(jsonOf(event)));
const toBase64Json = once((event) => utf8.encode(base64JsonOf(event)));

const JSON_LINES: EventFormat = {
  record: (event, { base64 }) => base64 ? toBase64Json(event) : toJson(event),
  check() {},
};

/**
 * Shows an event once, however many fids read it; and however long they take for it, there is one copy. That is so where a bus
 * gives all who subscribe the same event, as `mem:` does.
 */
function once(record: (event: BusEvent) => Uint8Array): (event: BusEvent) => Uint8Array {
  const records = new WeakMap<BusEvent, Uint8Array>();
  return (event) => {
    let shown = records.get(event);
    if (shown === undefined) records.set(event, shown = terminated(record(event)));
    return shown;
  };
}

function terminated(record: Uint8Array): Uint8Array {
  return concatenated([record, NEWLINE]);
}

/** A bus, as a directory of files for a {@linkcode NinepServer}. */
export class EventTree {
  /** The directory. */
  readonly root: Directory;
  readonly #bus: Bus;
  /** What has passed. */
  readonly counters: Readonly<Counters>;
  readonly #counters: Counters = { subscriptions: 0, published: 0, delivered: 0, begunBytes: 0 };
  #nextPath = 1n;
  readonly #seconds = Math.floor(Date.now() / 1000);

  /**
   * @param bus whose events it shows
   * @param options how it differs from the usual
   */
  constructor(bus: Bus, options: EventTreeOptions = {}) {
    this.#bus = bus;
    this.counters = this.#counters;
    const more = options.stats ?? (() => ({}));
    const files: File[] = [
      this.#file("event", 0o666, (how) => this.#openEvents(TEXT, how, "event is there to be read: publish into pub")),
      this.#file(
        "event.json",
        0o666,
        (how) => this.#openEvents(JSON_LINES, how, "event.json is there to be read: publish into pub.json"),
      ),
      this.#file("pub", 0o222, (how) => {
        if (how.read) throw refusal("permission");
        return new LinePublisher(this.#bus, parseTextLine, how, this.#counters);
      }),
      this.#file("pub.json", 0o666, (how) => {
        if (!how.write) throw refusal("permission");
        return new LinePublisher(this.#bus, parseJsonLine, how, this.#counters);
      }),
      this.#file("stats", 0o444, (how) => {
        if (how.write) throw refusal("permission");
        return new FixedText(this.#statsText(more()));
      }),
      this.#file("id", 0o444, (how) => {
        if (how.write) throw refusal("permission");
        return this.#openIdentity();
      }),
    ];
    this.root = {
      stat: this.#stat("/", QTDIR, DMDIR | 0o555, 0n),
      entries: new Map(files.map((file) => [file.stat.name, file])),
    };
  }

  #openEvents(format: EventFormat, how: OpenMode, refused: string): OpenFile | Promise<OpenFile> {
    if (!how.read) throw new NinepError(refused, Errno.EACCES);
    return EventStream.open(this.#bus, format, how, this.#counters);
  }

  async #openIdentity(): Promise<OpenFile> {
    try {
      return new FixedText(`${await this.#bus.identity()}\n`);
    } catch (error) {
      throw asNinepError(error);
    }
  }

  #statsText(more: Readonly<Record<string, number>>): string {
    const { subscriptions, published, delivered } = this.#counters;
    const stats = { ...more, subscriptions, events_published: published, events_delivered: delivered };
    return Object.entries(stats).map(([name, value]) => `${name} ${value}\n`).join("");
  }

  #file(name: string, permissions: number, open: File["open"]): File {
    return { stat: this.#stat(name, QTFILE, permissions, this.#nextPath++), open };
  }

  #stat(name: string, type: number, mode: number, path: bigint): Stat {
    return {
      type: 0,
      dev: 0,
      qid: { type, version: 0, path },
      mode: mode >>> 0,
      atime: this.#seconds,
      mtime: this.#seconds,
      length: 0n,
      name,
      uid: "ollie",
      gid: "ollie",
      muid: "ollie",
      extension: "",
      n_uid: NOBODY,
      n_gid: NOBODY,
      n_muid: NOBODY,
    };
  }
}

/** Reads a line of `pub`: the topic, and after the first space the payload. */
function parseTextLine(line: Uint8Array): Publication {
  const space = line.indexOf(SPACE);
  const end = space < 0 ? line.length : space;
  return { topic: textIn(line.subarray(0, end), "the topic"), payload: line.subarray(end + 1) };
}

/** Reads a line of `pub.json`. */
function parseJsonLine(line: Uint8Array): Publication {
  const expected =
    'a line of pub.json is {"topic": ..., "payload": ...}, or has "payload_base64" in place of "payload"';
  let said: unknown;
  try {
    said = parseJson(textIn(line, "the line"));
  } catch (error) {
    if (error instanceof NinepError) throw error;
    throw new NinepError(`this is not JSON: ${expected}`, Errno.EINVAL);
  }
  if (typeof said !== "object" || said === null || !("topic" in said) || typeof said.topic !== "string") {
    throw new NinepError(`the topic is missing: ${expected}`, Errno.EINVAL);
  }
  const { topic } = said;
  const via = "via" in said ? viaIn(said.via) : undefined;
  if ("payload_base64" in said) return { topic, payload: bytesIn(said.payload_base64), via };
  if (!("payload" in said)) throw new NinepError(`the payload is missing: ${expected}`, Errno.EINVAL);
  return { topic, payload: payloadOfJson(said.payload), via };
}

function viaIn(value: unknown): readonly string[] {
  if (isVia(value)) return value;
  throw new NinepError(`via takes a list of identities of buses, ${MAX_HOPS} at most`, Errno.EINVAL);
}

function bytesIn(text: unknown): Uint8Array {
  try {
    if (typeof text === "string") return fromBase64(text);
  } catch {
    // As below.
  }
  throw new NinepError("payload_base64 is not base64", Errno.EINVAL);
}
