/**
 * What hostile and confused clients may send, 100,000 times: nothing of it may throw where nobody catches it, hang a
 * connection, or leave a fid or a subscription behind.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { MemoryBus } from "../../mod.ts";
import type { ByteStream } from "../../lib/ninep/frames.ts";
import { decodeMessage, encodeMessage } from "../../lib/ninep/codec.ts";
import { type Dialect, FrameError, type Message } from "../../lib/ninep/message.ts";
import { NinepServer } from "../../lib/ninep/server.ts";
import { EventTree } from "../../lib/ninep/tree.ts";
import { within } from "../deadline.ts";
import { anyMessage, request } from "./arbitrary.ts";
import { parseMessage } from "./transcript.ts";

/** A client that says its piece, hears the answers, and hangs up. In memory, for there are many. */
class Piece implements ByteStream {
  readonly #chunks: Uint8Array[];
  readonly #said = Promise.withResolvers<void>();
  readonly replies: Uint8Array[] = [];
  closed = false;

  constructor(chunks: readonly Uint8Array[]) {
    this.#chunks = [...chunks];
  }

  async read(into: Uint8Array): Promise<number | null> {
    const chunk = this.#chunks.shift();
    if (chunk === undefined || this.closed) {
      this.#said.resolve();
      // What is under way gets a turn to be answered.
      await undefined;
      return null;
    }
    into.set(chunk.subarray(0, into.length));
    if (chunk.length > into.length) this.#chunks.unshift(chunk.subarray(into.length));
    await undefined;
    return Math.min(chunk.length, into.length);
  }

  write(bytes: Uint8Array): Promise<number> {
    this.replies.push(bytes.slice());
    return Promise.resolve(bytes.length);
  }

  close(): void {
    this.closed = true;
  }
}

const bus = new MemoryBus();
const tree = new EventTree(bus);
const log: string[] = [];
const server = new NinepServer(tree.root, { log: (line) => log.push(line) });

/** Serves a client, and looks whether anything is left of it. */
async function serve(chunks: readonly Uint8Array[]): Promise<Piece> {
  const piece = new Piece(chunks);
  await within(server.serve(piece), "the end of a connection", 10_000);
  assert(piece.closed);
  assert.equal(server.connections, 0);
  assert.equal(tree.counters.subscriptions, 0, "a subscription is left");
  const fault = log.find((line) => line.includes("internal error"));
  assert.equal(fault, undefined);
  log.length = 0;
  return piece;
}

const DIALECTS: readonly Dialect[] = ["9P2000", "9P2000.u"];

for (const dialect of DIALECTS) {
  Deno.test(`the decoder takes any bytes: ${dialect}`, () => {
    const mutated = fc.tuple(anyMessage(dialect), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 })).map(
      ([message, changes]) => {
        const frame = encodeMessage(message, dialect);
        for (const [at, byte] of changes) frame[at % frame.length] = byte;
        return frame;
      },
    );
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), mutated), (frame) => {
        try {
          decodeMessage(frame, dialect);
        } catch (error) {
          assert(error instanceof FrameError, String(error));
        }
      }),
      { numRuns: 30_000 },
    );
  });
}

const session: readonly Message[] = [
  { type: "Tversion", tag: 0xffff, msize: 8192, version: "9P2000" },
  { type: "Tattach", tag: 1, fid: 0, afid: 0xffff_ffff, uname: "glenda", aname: "" },
  { type: "Twalk", tag: 1, fid: 0, newfid: 1, wname: ["event"] },
  { type: "Topen", tag: 1, fid: 1, mode: 2 },
  { type: "Twalk", tag: 2, fid: 0, newfid: 2, wname: ["pub"] },
  { type: "Topen", tag: 2, fid: 2, mode: 1 },
];
const opening = session.map((message) => encodeMessage(message, "9P2000"));

Deno.test("the server takes any bytes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 5 }), async (chunks) => {
      await serve([...opening, ...chunks]);
    }),
    { numRuns: 10_000 },
  );
});

Deno.test("the server takes transcripts that were tampered with", async () => {
  const transcripts: Uint8Array[][] = [];
  const directory = new URL("transcripts/", import.meta.url);
  for (const { name } of Deno.readDirSync(directory)) {
    const lines = Deno.readTextFileSync(new URL(name, directory)).split("\n").filter((line) => line.startsWith("T"));
    const messages = lines.map(parseMessage);
    if (messages.length > 0) transcripts.push(messages.map((message) => encodeMessage(message, "9P2000")));
  }
  const change = fc.record({
    frame: fc.nat(),
    at: fc.nat(),
    byte: fc.nat(255),
    how: fc.constantFrom("set", "cut", "drop", "twice"),
  });
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.array(change, { minLength: 1, maxLength: 6 }), async (which, changes) => {
      const frames = [...transcripts[which % transcripts.length]];
      for (const { frame, at, byte, how } of changes) {
        const index = frame % frames.length;
        const changed = frames[index].slice();
        changed[at % changed.length] = byte;
        if (how === "set") frames[index] = changed;
        else if (how === "cut") frames[index] = changed.subarray(0, at % changed.length);
        else if (how === "twice") frames.splice(index, 0, frames[index]);
        else if (frames.length > 1) frames.splice(index, 1);
      }
      await serve(frames);
    }),
    { numRuns: 10_000 },
  );
});

/** Encodes messages one after another, each in the dialect that those before have agreed on. */
function encodeAll(messages: readonly Message[]): Uint8Array[] {
  let dialect: Dialect = "9P2000";
  return messages.map((message) => {
    const frame = encodeMessage(message, dialect);
    if (message.type === "Tversion") {
      dialect = message.version === "9P2000.u" && message.msize >= 256 ? "9P2000.u" : "9P2000";
    }
    return frame;
  });
}

Deno.test("the server takes requests in any order", async () => {
  const event = fc.constant("event" as const);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ weight: 20, arbitrary: request }, { weight: 1, arbitrary: event }), { maxLength: 30 }),
      async (steps) => {
        const frames = encodeAll(steps.filter((step) => step !== "event"));
        const publishing = Promise.all(steps.filter((step) => step === "event").map(() => bus.publish("color", "red")));
        // One that is valid comes last: who has been served until then is served on.
        const last: Message = { type: "Tversion", tag: 77, msize: 8192, version: "9P2000" };
        const { replies } = await serve([...opening, ...frames, encodeMessage(last, "9P2000")]);
        await publishing;
        const all = new Blob(replies.map((reply) => new Uint8Array(reply)));
        const end = (await all.bytes()).subarray(-19);
        assert.deepEqual(decodeMessage(end, "9P2000"), { ...last, type: "Rversion" });
      },
    ),
    { numRuns: 20_000 },
  );
});
