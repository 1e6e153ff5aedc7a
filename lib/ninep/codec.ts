/**
 * The messages of `message.ts` as bytes: one encoder writes them and one decoder reads them, both by the table.
 *
 * @module
 */
import {
  type Dialect,
  FrameError,
  type Kinds,
  type Layout,
  type Message,
  type MessageName,
  MESSAGES,
  type Qid,
  STAT,
  type Stat,
  STAT_U,
} from "./message.ts";

type Steps = readonly (readonly [name: string, kind: keyof Kinds])[];

/** The fields of everything in one dialect, in the order in which they are written. */
class Layouts {
  readonly byNumber: ReadonlyMap<number, { readonly name: MessageName; readonly steps: Steps }>;
  readonly byName: Readonly<Record<MessageName, { readonly number: number; readonly steps: Steps }>>;
  readonly stat: Steps;

  constructor(dialect: Dialect) {
    const steps = (fields: Layout, dotu: Layout): Steps =>
      Object.entries(dialect === "9P2000.u" ? { ...fields, ...dotu } : fields);
    const all = Object.entries(MESSAGES).map(([name, { type, fields, dotu }]) => ({
      // The table's keys are the names.
      name: name as MessageName,
      number: type,
      steps: steps(fields, dotu),
    }));
    this.byNumber = new Map(all.map((entry) => [entry.number, entry]));
    // One for each of them.
    this.byName = Object.fromEntries(all.map((entry) => [entry.name, entry])) as unknown as typeof this.byName;
    this.stat = steps(STAT, STAT_U);
  }
}

const LAYOUTS = { "9P2000": new Layouts("9P2000"), "9P2000.u": new Layouts("9P2000.u") };

const toUtf8 = new TextEncoder();
// What is not UTF-8 is no name that anybody has, but no reason to hang up on a mount either.
const fromUtf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Reads one message.
 *
 * @param frame all of it, from its size on
 * @param dialect what the connection speaks
 * @returns the message; its data are a view of the frame
 * @throws {FrameError} if a field reaches beyond the frame, if something follows the last, or if the type is unknown
 *
 * @example
 * ```ts
 * import { decodeMessage, encodeMessage } from "./codec.ts";
 * import assert from "node:assert/strict";
 *
 * const frame = encodeMessage({ type: "Tclunk", tag: 1, fid: 7 }, "9P2000");
 * assert.deepEqual(decodeMessage(frame, "9P2000"), { type: "Tclunk", tag: 1, fid: 7 });
 * ```
 */
export function decodeMessage(frame: Uint8Array, dialect: Dialect): Message {
  const decoder = new Decoder(frame, dialect);
  const size = decoder.u32();
  const number = decoder.u8();
  const tag = decoder.u16();
  if (size !== frame.length) throw new FrameError(`a frame of ${frame.length} bytes says that it has ${size}`);
  const layout = LAYOUTS[dialect].byNumber.get(number);
  if (layout === undefined) throw new FrameError(`there is no message of type ${number}`);
  const message: Record<string, unknown> = { type: layout.name, tag };
  decoder.fields(layout.steps, message);
  if (decoder.left > 0) throw new FrameError(`${decoder.left} bytes follow the fields of a ${layout.name}`);
  // The layout that it was read by is the one that its type is made from.
  return message as Message;
}

/**
 * Writes one message.
 *
 * @param message what to write
 * @param dialect what the connection speaks
 * @returns the whole frame
 * @throws {RangeError} if a string or a list is longer than the protocol can say
 */
export function encodeMessage(message: Message, dialect: Dialect): Uint8Array {
  const encoder = new Encoder(dialect);
  encoder.add(message);
  return encoder.take();
}

/**
 * Writes the attributes of a file as the entry of a directory, or of an Rstat.
 *
 * @param stat what to write
 * @param dialect what the connection speaks
 */
export function encodeStat(stat: Stat, dialect: Dialect): Uint8Array {
  const encoder = new Encoder(dialect);
  encoder.entry(stat);
  return encoder.take();
}

/**
 * Reads the entries of a directory.
 *
 * @param data what one or more Rreads brought, whole entries all
 * @param dialect what the connection speaks
 * @throws {FrameError} if an entry is cut off
 */
export function decodeStats(data: Uint8Array, dialect: Dialect): Stat[] {
  const decoder = new Decoder(data, dialect);
  const stats: Stat[] = [];
  while (decoder.left > 0) stats.push(decoder.entry());
  return stats;
}

/** Reads fields one after another, each by the method that its kind is called. */
class Decoder {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #dialect: Dialect;
  #at = 0;
  #end: number;

  constructor(bytes: Uint8Array, dialect: Dialect) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#dialect = dialect;
    this.#end = bytes.length;
  }

  get left(): number {
    return this.#end - this.#at;
  }

  fields(steps: Steps, into: Record<string, unknown>): void {
    for (const [name, kind] of steps) into[name] = this[kind]();
  }

  /** Passes over so many bytes, if they are there, and tells where they begin. */
  #pass(bytes: number): number {
    const at = this.#at;
    if (bytes > this.#end - at) {
      throw new FrameError(`a field of ${bytes} bytes reaches beyond its frame, of which ${this.left} are left`);
    }
    this.#at = at + bytes;
    return at;
  }

  u8(): number {
    return this.#view.getUint8(this.#pass(1));
  }

  u16(): number {
    return this.#view.getUint16(this.#pass(2), true);
  }

  u32(): number {
    return this.#view.getUint32(this.#pass(4), true);
  }

  u64(): bigint {
    return this.#view.getBigUint64(this.#pass(8), true);
  }

  string(): string {
    const length = this.u16();
    const at = this.#pass(length);
    return fromUtf8.decode(this.#bytes.subarray(at, at + length));
  }

  data(): Uint8Array {
    const length = this.u32();
    const at = this.#pass(length);
    return this.#bytes.subarray(at, at + length);
  }

  qid(): Qid {
    return { type: this.u8(), version: this.u32(), path: this.u64() };
  }

  qids(): Qid[] {
    return this.#list(13, () => this.qid());
  }

  names(): string[] {
    return this.#list(2, () => this.string());
  }

  /** A list, made only after a look whether its elements, of so many bytes at least, can be there at all. */
  #list<Element>(bytes: number, element: () => Element): Element[] {
    const length = this.u16();
    if (length * bytes > this.left) throw new FrameError(`a list of ${length} reaches beyond its frame`);
    return Array.from({ length }, element);
  }

  stat(): Stat {
    return this.#within(this.u16(), () => this.entry());
  }

  /** A stat with the length that it begins with. */
  entry(): Stat {
    const stat: Record<string, unknown> = {};
    this.#within(this.u16(), () => this.fields(LAYOUTS[this.#dialect].stat, stat));
    // As in decodeMessage.
    return stat as unknown as Stat;
  }

  /** Reads what must take up the next bytes, neither more nor fewer. */
  #within<Result>(bytes: number, read: () => Result): Result {
    const outer = this.#end;
    this.#end = this.#pass(bytes) + bytes;
    this.#at = this.#end - bytes;
    const result = read();
    if (this.left > 0) throw new FrameError(`${this.left} bytes follow the fields of a stat`);
    this.#end = outer;
    return result;
  }
}

const FIRST_BYTES = 256;

/** Writes messages, one after another into one piece of memory, so that many leave in one write. */
export class Encoder {
  /** What the connection speaks, from the next message on. */
  dialect: Dialect;
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;

  /** @param dialect what the connection speaks */
  constructor(dialect: Dialect) {
    this.dialect = dialect;
  }

  /** How many bytes have been written and not taken. */
  get size(): number {
    return this.#at;
  }

  /**
   * Adds a message.
   *
   * @throws {RangeError} if a string or a list is longer than the protocol can say; then nothing is added
   */
  add(message: Message): void {
    const start = this.#at;
    const { number, steps } = LAYOUTS[this.dialect].byName[message.type];
    try {
      this.u32(0);
      this.u8(number);
      this.u16(message.tag);
      this.#fields(steps, message);
    } catch (error) {
      this.#at = start;
      throw error;
    }
    this.#view.setUint32(start, this.#at - start, true);
  }

  /** All that has been added, which is the caller's from now on. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#at);
    this.#bytes = new Uint8Array(0);
    this.#at = 0;
    return taken;
  }

  /** A stat with the length that it begins with. */
  entry(stat: Stat): void {
    this.#counted(() => this.#fields(LAYOUTS[this.dialect].stat, stat));
  }

  #fields(steps: Steps, from: object): void {
    // The types of a message and of its layout come from one table, which TypeScript cannot follow through a loop.
    const values = from as Readonly<Record<string, never>>;
    for (const [name, kind] of steps) this[kind](values[name]);
  }

  /** Makes room for so many bytes, and tells where they begin. */
  #pass(bytes: number): number {
    const at = this.#at;
    const end = at + bytes;
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(FIRST_BYTES, 2 * this.#bytes.length, end));
      larger.set(this.#bytes.subarray(0, at));
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    this.#at = end;
    return at;
  }

  u8(value = 0): void {
    const at = this.#pass(1);
    this.#view.setUint8(at, value);
  }

  u16(value = 0): void {
    const at = this.#pass(2);
    this.#view.setUint16(at, value, true);
  }

  u32(value = 0): void {
    const at = this.#pass(4);
    this.#view.setUint32(at, value, true);
  }

  u64(value = 0n): void {
    const at = this.#pass(8);
    this.#view.setBigUint64(at, value, true);
  }

  string(value = ""): void {
    this.#counted(() => {
      // A character of a string, as JavaScript counts them, takes three bytes at most.
      const at = this.#pass(value.length * 3);
      this.#at = at + toUtf8.encodeInto(value, this.#bytes.subarray(at)).written;
    });
  }

  data(value: Uint8Array): void {
    this.u32(value.length);
    const at = this.#pass(value.length);
    this.#bytes.set(value, at);
  }

  qid({ type, version, path }: Qid): void {
    this.u8(type);
    this.u32(version);
    this.u64(path);
  }

  qids(value: readonly Qid[]): void {
    this.#length(value.length);
    for (const qid of value) this.qid(qid);
  }

  names(value: readonly string[]): void {
    this.#length(value.length);
    for (const name of value) this.string(name);
  }

  stat(value: Stat): void {
    this.#counted(() => this.entry(value));
  }

  #length(length: number): void {
    if (length > 0xffff) throw new RangeError(`a message can hold 65535 of a kind at most, not ${length}`);
    this.u16(length);
  }

  /** Writes something, and before it how many bytes it takes. */
  #counted(write: () => void): void {
    const before = this.#pass(2);
    write();
    const length = this.#at - before - 2;
    if (length > 0xffff) throw new RangeError(`a field of a message can be 65535 bytes long at most, not ${length}`);
    this.#view.setUint16(before, length, true);
  }
}
