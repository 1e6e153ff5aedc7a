/**
 * Transcripts: conversations with a 9P server as plain text, one message a line, run against a real socket.
 *
 * | a line that begins with | means |
 * | --- | --- |
 * | `T` | the client sends this message; those that stand together are sent in one write |
 * | `R` | the server's next reply is this one; `...` in it stands for anything |
 * | `nothing` | the server has nothing to say now |
 * | `publish TOPIC PAYLOAD` | an event comes onto the bus, which is not the server's doing |
 * | `send HEX` | the client sends these bytes |
 * | `closed` | the server closes the connection |
 * | `hangup` | the client does, and connects anew |
 * | `bus directory` | as the first line: the bus is a directory, and not `mem:` |
 * | `#` | nothing: what this is about |
 *
 * Messages are written as `formatMessage` writes them, and strings as JSON has them. In a stat that is sent, what is left out
 * is not to be touched.
 */
import assert from "node:assert/strict";
import { type Bus, DirectoryBus, MemoryBus } from "../../mod.ts";
import { connectTo } from "../../lib/ninep/address.ts";
import { FrameReader } from "../../lib/ninep/frames.ts";
import { listen } from "../../lib/ninep/listen.ts";
import { decodeMessage, encodeMessage } from "../../lib/ninep/codec.ts";
import { type Dialect, type Message, type MessageName, MESSAGES, NOFID, NOTAG } from "../../lib/ninep/message.ts";
import { NinepServer, type NinepServerOptions } from "../../lib/ninep/server.ts";
import { formatMessage } from "../../lib/ninep/text.ts";
import { EventTree } from "../../lib/ninep/tree.ts";
import { within } from "../deadline.ts";
import { temporaryDirectory } from "../temporary.ts";

/** A server of a bus, at a socket of its own. */
export interface Served extends AsyncDisposable {
  readonly bus: Bus;
  readonly server: NinepServer;
  readonly tree: EventTree;
  /** The path of the socket. */
  readonly path: string;
  /** What the server has said in its log. */
  readonly log: readonly string[];
}

/** Serves a bus at a unix socket: one of its own, or the one that is given. */
export function serve(
  kind: "mem" | "directory" | Bus = "mem",
  options: NinepServerOptions = {},
): Served {
  const directory = temporaryDirectory();
  const bus = kind === "mem"
    ? new MemoryBus()
    : kind === "directory"
    ? new DirectoryBus(`${directory.path}/bus`)
    : kind;
  const log: string[] = [];
  const tree: EventTree = new EventTree(bus, { stats: () => ({ connections: server.connections, fids: server.fids }) });
  const server: NinepServer = new NinepServer(tree.root, { log: (line) => log.push(line), ...options });
  const path = `${directory.path}/s`;
  const listening = listen({ transport: "unix", path });
  const accepting = (async () => {
    for (let connection; (connection = await listening.accept()) !== undefined;) server.serve(connection);
  })();
  return {
    bus,
    server,
    tree,
    path,
    log,
    async [Symbol.asyncDispose]() {
      listening[Symbol.dispose]();
      await accepting;
      await server.close();
      await bus[Symbol.asyncDispose]();
      directory[Symbol.dispose]();
    },
  };
}

/** A client that says exactly what it is told to. */
export class Conversation implements Disposable {
  dialect: Dialect = "9P2000";
  readonly #connection: Deno.Conn;
  readonly #frames: FrameReader;

  private constructor(connection: Deno.Conn) {
    this.#connection = connection;
    this.#frames = new FrameReader(connection, 2 ** 24);
  }

  /** Connects to a socket. */
  static async with(path: string): Promise<Conversation> {
    return new Conversation(await connectTo({ transport: "unix", path }));
  }

  /** Sends messages, in one write. */
  async send(...messages: readonly Message[]): Promise<void> {
    await this.sendBytes(...messages.map((message) => encodeMessage(message, this.dialect)));
  }

  /** Sends bytes, in one write. */
  async sendBytes(...parts: readonly Uint8Array[]): Promise<void> {
    const bytes = await new Blob(parts.map((part) => new Uint8Array(part))).bytes();
    for (let done = 0; done < bytes.length;) done += await this.#connection.write(bytes.subarray(done));
  }

  /** The server's next message; `undefined` if it has closed the connection. */
  async reply(): Promise<Message | undefined> {
    for (;;) {
      const frame = this.#frames.take();
      if (frame !== undefined) {
        const message = decodeMessage(new Uint8Array(frame), this.dialect);
        if (message.type === "Rversion" && message.version !== "unknown") this.dialect = message.version as Dialect;
        return message;
      }
      try {
        if (!await within(this.#frames.fill(), "a reply", 20_000)) return undefined;
      } catch (error) {
        if (error instanceof Deno.errors.ConnectionReset) return undefined;
        throw error;
      }
    }
  }

  /** Sends one message and takes one reply. */
  async ask(message: Message): Promise<Message | undefined> {
    await this.send(message);
    return await this.reply();
  }

  [Symbol.dispose](): void {
    try {
      this.#connection.close();
    } catch {
      // It is closed already.
    }
  }
}

/** Runs a transcript. */
export async function runTranscript(text: string): Promise<void> {
  const lines = text.split("\n").map((line, i) => ({ number: i + 1, line: line.trim() }))
    .filter(({ line }) => line !== "" && !line.startsWith("#"));
  await using served = serve(lines[0]?.line === "bus directory" ? "directory" : "mem");
  let conversation = await Conversation.with(served.path);
  try {
    let unsent: Message[] = [];
    for (const { number, line } of lines) {
      const [word, rest] = splitAt(line, " ");
      try {
        if (line.startsWith("T")) {
          unsent.push(parseMessage(line));
          continue;
        }
        if (unsent.length > 0) await conversation.send(...unsent);
        unsent = [];
        if (line.startsWith("R")) {
          const reply = await conversation.reply();
          assert.match(reply === undefined ? "closed" : formatMessage(reply), patternOf(line));
        } else if (word === "nothing") {
          const reply = await conversation.ask({ type: "Tflush", tag: 65_000, oldtag: 65_001 });
          assert.deepEqual(reply, { type: "Rflush", tag: 65_000 });
        } else if (word === "publish") {
          const [topic, payload] = splitAt(rest, " ");
          await served.bus.publish(topic, JSON.parse(payload));
        } else if (word === "send") {
          await conversation.sendBytes(Uint8Array.from(rest.split(" "), (byte) => parseInt(byte, 16)));
        } else if (word === "closed") {
          assert.equal(await conversation.reply(), undefined);
        } else if (word === "hangup") {
          conversation[Symbol.dispose]();
          conversation = await Conversation.with(served.path);
        } else if (line !== "bus directory") {
          throw new Error("no line of a transcript begins so");
        }
      } catch (error) {
        throw new Error(`line ${number}: ${line}: ${error instanceof Error ? error.message : error}`, { cause: error });
      }
    }
  } finally {
    conversation[Symbol.dispose]();
  }
}

/** The line as a pattern, in which `...` stands for anything. */
function patternOf(line: string): RegExp {
  return new RegExp(
    `^${line.split("...").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join(".*")}$`,
    "s",
  );
}

function splitAt(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** Reads a message as `formatMessage` writes it. */
export function parseMessage(line: string): Message {
  const words = [...line.matchAll(/"(?:[^"\\]|\\.)*"|[[\](){}]|[^\s[\](){}]+/g)].map(([word]) => word);
  const name = words.shift() ?? "";
  if (!Object.hasOwn(MESSAGES, name)) throw new Error(`there is no message ${name}`);
  const { fields, dotu } = MESSAGES[name as MessageName];
  const message: Record<string, unknown> = { type: name };
  const layout: Record<string, string> = { tag: "u16", ...fields, ...dotu };
  while (words.length > 0) {
    const field = words.shift()!;
    message[field] = parseValue(field, layout[field], words);
  }
  return message as unknown as Message;
}

const NUMBERS: Readonly<Record<string, number>> = { NOTAG, NOFID };

function parseValue(name: string, kind: string | undefined, words: string[]): unknown {
  const word = words.shift();
  if (word === undefined) throw new Error(`${name} has no value`);
  switch (kind) {
    case "u8":
    case "u16":
    case "u32":
      return NUMBERS[word] ?? (name === "mode" ? parseInt(word, 8) : Number(word));
    case "u64":
      return BigInt(word);
    case "string":
      return JSON.parse(word);
    case "data":
      return new TextEncoder().encode(JSON.parse(word));
    case "names":
      return words.splice(0, words.indexOf("]") + 1).slice(0, -1).map((name) => JSON.parse(name));
    case "stat": {
      const stat: Record<string, unknown> = { ...UNTOUCHED };
      while (words[0] !== "}") {
        const field = words.shift()!;
        const left = UNTOUCHED[field as keyof typeof UNTOUCHED];
        stat[field] = parseValue(
          field,
          typeof left === "bigint" ? "u64" : typeof left === "string" ? "string" : "u32",
          words,
        );
      }
      words.shift();
      return stat;
    }
    default:
      throw new Error(`${name} is no field of this message`);
  }
}

/** A stat of which nothing is to be changed: stat(5). */
const UNTOUCHED = {
  type: 0xffff,
  dev: 0xffff_ffff,
  qid: { type: 0xff, version: 0xffff_ffff, path: 0xffff_ffff_ffff_ffffn },
  mode: 0xffff_ffff,
  atime: 0xffff_ffff,
  mtime: 0xffff_ffff,
  length: 0xffff_ffff_ffff_ffffn,
  name: "",
  uid: "",
  gid: "",
  muid: "",
  extension: "",
  n_uid: 0xffff_ffff,
  n_gid: 0xffff_ffff,
  n_muid: 0xffff_ffff,
};
