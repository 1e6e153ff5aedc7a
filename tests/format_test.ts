import assert from "node:assert/strict";
import fc from "fast-check";
import type { BusEvent } from "../lib/event.ts";
import { jsonOf, textOf } from "../lib/format.ts";

const utf8 = new TextEncoder();

function event(payload: string | Uint8Array, topic = "color"): BusEvent {
  return {
    id: "1",
    time: "2026-05-08T12:34:56.123456789Z",
    topic,
    payload: typeof payload === "string" ? utf8.encode(payload) : payload,
  };
}

Deno.test("as text, an event is its topic and its payload without the last newline", () => {
  const text = (payload: string, topic?: string) => new TextDecoder().decode(textOf(event(payload, topic)));
  assert.equal(text("red\n"), "color red");
  assert.equal(text("red"), "color red");
  assert.equal(text("red\n\n"), "color red\n");
  assert.equal(text("red\nblue\n"), "color red\nblue");
  assert.equal(text(""), "color ");
  assert.equal(text("red", "two words"), "two%20words red");
  assert.deepEqual(textOf(event(Uint8Array.of(0xff, 0))), Uint8Array.of(...utf8.encode("color "), 0xff, 0));
});

Deno.test("as JSON, a payload is the value that it is, a string, or base64", () => {
  const head = '{"id":"1","time":"2026-05-08T12:34:56.123456789Z","topic":"color",';
  const json: [payload: string | Uint8Array, members: string][] = [
    ["red\n", '"payload":"red\\n"'],
    ["", '"payload":""'],
    ['{"a": [1, 2]}\n', '"payload":{"a": [1, 2]}'],
    ['{\n  "a": 1\r\n}\n', '"payload":{   "a": 1 }'],
    ["12345678901234567890", '"payload":12345678901234567890'],
    ["1.0", '"payload":1.0'],
    ["null", '"payload":null'],
    ['"red"', '"payload":"red"'],
    ["\ufeff1", '"payload":"\ufeff1"'],
    ["{", '"payload":"{"'],
    [Uint8Array.of(0xff, 0x00, 0x0a), '"payload":null,"payload_base64":"/wAK"'],
  ];
  for (const [payload, members] of json) assert.equal(jsonOf(event(payload)), `${head}${members}}`);
});

Deno.test("property: every payload survives JSON, on one line", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.uint8Array(), fc.string({ unit: "binary" }), fc.json({ noUnicodeString: false })),
      (payload) => {
        const line = jsonOf(event(payload));
        assert(!line.includes("\n"));
        const read = JSON.parse(line);
        const bytes = event(payload).payload;
        if (read.payload_base64 !== undefined) {
          assert.deepEqual(Uint8Array.from(atob(read.payload_base64), (c) => c.charCodeAt(0)), bytes);
          return;
        }
        const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
        let value: unknown = text;
        try {
          value = JSON.parse(text);
        } catch {
          // It is a string, then.
        }
        assert.deepEqual(read.payload, value);
      },
    ),
  );
});

Deno.test("a large payload that is not UTF-8 becomes base64, too", () => {
  const payload = new Uint8Array(1_000_000).fill(0xfe);
  const { payload_base64 } = JSON.parse(jsonOf(event(payload)));
  assert.equal(payload_base64, btoa("\xfe".repeat(1_000_000)));
});
