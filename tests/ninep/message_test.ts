import assert from "node:assert/strict";
import fc from "fast-check";
import { decodeMessage, decodeStats, encodeMessage, encodeStat } from "../../lib/ninep/codec.ts";
import { type Dialect, FrameError, MESSAGES } from "../../lib/ninep/message.ts";
import { formatMessage } from "../../lib/ninep/text.ts";
import { anyMessage } from "./arbitrary.ts";

const DIALECTS: readonly Dialect[] = ["9P2000", "9P2000.u"];

/** Bytes as the manual's pages add them up. */
function bytes(...parts: readonly (number | string | readonly number[])[]): Uint8Array {
  return Uint8Array.from(
    parts.flatMap((part) => typeof part === "string" ? [...new TextEncoder().encode(part)] : part),
  );
}

Deno.test("messages are written as the manual has them", () => {
  assert.deepEqual(
    encodeMessage({ type: "Tversion", tag: 0xffff, msize: 8192, version: "9P2000" }, "9P2000"),
    bytes([19, 0, 0, 0], 100, [0xff, 0xff], [0, 32, 0, 0], [6, 0], "9P2000"),
  );
  assert.deepEqual(
    encodeMessage({ type: "Twalk", tag: 1, fid: 2, newfid: 3, wname: ["a", "bc"] }, "9P2000"),
    bytes([24, 0, 0, 0], 110, [1, 0], [2, 0, 0, 0], [3, 0, 0, 0], [2, 0], [1, 0], "a", [2, 0], "bc"),
  );
  assert.deepEqual(
    encodeMessage({ type: "Rerror", tag: 1, ename: "no", errno: 2 }, "9P2000.u"),
    bytes([15, 0, 0, 0], 107, [1, 0], [2, 0], "no", [2, 0, 0, 0]),
  );
  assert.deepEqual(
    encodeMessage({ type: "Rerror", tag: 1, ename: "no", errno: 2 }, "9P2000"),
    bytes([11, 0, 0, 0], 107, [1, 0], [2, 0], "no"),
  );
  const qid = { type: 0x80, version: 1, path: 2n };
  assert.deepEqual(
    encodeMessage({ type: "Rattach", tag: 1, qid }, "9P2000"),
    bytes([20, 0, 0, 0], 105, [1, 0], 0x80, [1, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 0]),
  );
});

Deno.test("a stat has two lengths in a message, and one in a directory", () => {
  const stat = {
    type: 0,
    dev: 0,
    qid: { type: 0, version: 0, path: 1n },
    mode: 0o644,
    atime: 1,
    mtime: 2,
    length: 3n,
    name: "n",
    uid: "u",
    gid: "g",
    muid: "m",
  };
  const entry = encodeStat(stat, "9P2000");
  assert.equal(entry.length, 2 + 39 + 4 * 3);
  assert.deepEqual([entry[0], entry[1]], [entry.length - 2, 0]);
  const message = encodeMessage({ type: "Rstat", tag: 1, stat }, "9P2000");
  assert.deepEqual([message[7], message[8]], [entry.length, 0]);
  assert.deepEqual(message.subarray(9), entry);
  assert.deepEqual(decodeStats(new Uint8Array([...entry, ...entry]), "9P2000"), [stat, stat]);
  assert.throws(() => decodeStats(entry.subarray(1), "9P2000"), FrameError);
});

Deno.test("there are 27 messages, and every T has its R", () => {
  const names = Object.keys(MESSAGES);
  assert.equal(names.length, 27);
  for (const name of names) {
    if (name.startsWith("T")) assert(names.includes(`R${name.slice(1)}`), name);
  }
});

for (const dialect of DIALECTS) {
  Deno.test(`what is encoded is decoded: ${dialect}`, () => {
    fc.assert(
      fc.property(anyMessage(dialect), (message) => {
        const frame = encodeMessage(message, dialect);
        assert.deepEqual(decodeMessage(frame, dialect), message);
        assert(formatMessage(message).startsWith(`${message.type} tag ${message.tag}`));
      }),
      { numRuns: 3000 },
    );
  });

  Deno.test(`a frame that is cut, or goes on, is none: ${dialect}`, () => {
    fc.assert(
      fc.property(anyMessage(dialect), fc.nat(), (message, at) => {
        const frame = encodeMessage(message, dialect);
        const longer = new Uint8Array(frame.length + 1);
        longer.set(frame);
        // The size is put right: what must be noticed is in the fields.
        for (const changed of [frame.slice(0, Math.max(7, at % frame.length)), longer]) {
          if (changed.length === frame.length) continue;
          new DataView(changed.buffer).setUint32(0, changed.length, true);
          assert.throws(() => decodeMessage(changed, dialect), FrameError);
        }
      }),
      { numRuns: 3000 },
    );
  });
}

Deno.test("what is too long for a length of two bytes is refused", () => {
  const long = "x".repeat(65_536);
  assert.throws(() => encodeMessage({ type: "Rerror", tag: 1, ename: long }, "9P2000"), RangeError);
  const wname = Array.from({ length: 65_536 }, () => "");
  assert.throws(() => encodeMessage({ type: "Twalk", tag: 1, fid: 1, newfid: 2, wname }, "9P2000"), RangeError);
});
