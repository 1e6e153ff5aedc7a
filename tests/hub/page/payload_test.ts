import assert from "node:assert/strict";
import { envelopeOf } from "../../../lib/hub/envelope.ts";
import { payloadInFull, payloadLine } from "../../../lib/hub/page/payload.js";

const utf8 = new TextEncoder();

function envelope(payload: string | Uint8Array): string {
  const bytes = typeof payload === "string" ? utf8.encode(payload) : payload;
  return envelopeOf({ topic: "color", payload: bytes });
}

Deno.test("on its line, a payload is what is on the bus", () => {
  const lines = {
    "red": "red",
    '"red"': '"red"',
    "17": "17",
    " 1.0 ": "1.0",
    '{"a":[1,{"b":null}]}': '{ "a": [ 1, { "b": null } ] }',
    '{"a":12345678901234567890}': '{ "a": 12345678901234567890 }',
    "one\ntwo\r\nthree\n": "one↵two↵three",
    "a\tb\u0007c": "a b c",
    "": "",
  };
  for (const [payload, line] of Object.entries(lines)) assert.equal(payloadLine(envelope(payload)), line, payload);
  assert.equal(payloadLine(envelope(new Uint8Array([0, 255]))), "binary, 2 bytes");
  assert.equal(payloadLine(envelope("x".repeat(10_000))).length, 301);
});

Deno.test("in full, JSON is written over several lines and everything else as it is", () => {
  const { shown, whole, kind, size } = payloadInFull(envelope('{"a":1.0,"b":12345678901234567890}'));
  assert.deepEqual([shown, kind, size], ['{\n  "a": 1.0,\n  "b": 12345678901234567890\n}', "JSON", 34]);
  assert.equal(whole, '{"a":1.0,"b":12345678901234567890}');
  assert.deepEqual(payloadInFull(envelope("å\n")), { shown: "å\n", whole: "å\n", kind: "text", size: 3 });
  const { shown: cut, whole: long } = payloadInFull(envelope("x".repeat(200_000)));
  assert.match(cut, /x\n… cut here: 100000 more characters$/);
  assert.equal(long.length, 200_000);
});

Deno.test("what is nested deeply, and long, is shown at no great cost", () => {
  for (const depth of [400, 600, 100_000]) {
    const payload = `${"[".repeat(depth)}${Array(100_000).fill(1)}${"]".repeat(depth)}`;
    assert.equal(payloadLine(envelope(payload)), `${"[".repeat(300)}…`);
    assert.equal(payloadInFull(envelope(payload)).whole, payload);
  }
});

Deno.test("bytes that are no text are shown as a dump", () => {
  const { shown, kind, size } = payloadInFull(envelope(new Uint8Array([0, 255, 0x6f, 0x6b])));
  assert.deepEqual([kind, size], ["binary", 4]);
  assert.match(shown, /^00000000 {2}00 ff 6f 6b {2,}\.\.ok$/);
});
