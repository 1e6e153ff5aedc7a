import assert from "node:assert/strict";
import fc from "fast-check";
import type { BusEvent } from "../../lib/event.ts";
import {
  EnvelopeError,
  envelopeOf,
  isControl,
  parseEnvelope,
  partsOf,
  payloadOf,
  topicOf,
  withPosition,
} from "../../lib/hub/envelope.ts";

const encoder = new TextEncoder();
const bytes = (payload: Uint8Array | string) => typeof payload === "string" ? encoder.encode(payload) : payload;

function event(topic: string, payload: Uint8Array | string): BusEvent {
  return { id: "7", time: "2026-05-08T12:34:56.123456789Z", topic, payload: bytes(payload) };
}

Deno.test("an envelope is a type, an id and a payload", () => {
  assert.deepEqual(parseEnvelope('{"type":"message.sent","id":"conv-123","payload":{"a":[1]}}').id, "conv-123");
  assert.deepEqual(parseEnvelope(' {"payload":null,"type":"a","more":1}\n'), { type: "a", id: "", payload: null });
  assert(isControl(parseEnvelope('{"type":"__ping","payload":1}')));
  assert(!isControl(parseEnvelope('{"type":"_ping","payload":1}')));
  for (
    const [text, reason] of [
      ["", /not JSON/],
      ["{", /not JSON/],
      ["5", /no envelope/],
      ["null", /no envelope/],
      ["[]", /no envelope/],
      ["{}", /needs a "type"/],
      ['{"type":"","payload":1}', /needs a "type"/],
      ['{"type":["a"],"payload":1}', /needs a "type"/],
      ['{"type":"a","id":5,"payload":1}', /"id" of an envelope is a string/],
      ['{"type":"a"}', /needs a "payload"/],
      ['{"type":"a","payload_base64":5}', /"payload_base64" is a string/],
    ] as const
  ) {
    assert.throws(
      () => parseEnvelope(text),
      (error) => error instanceof EnvelopeError && reason.test(error.message),
      text,
    );
  }
  assert.throws(() => payloadOf({ type: "a", id: "", payload: null, payload_base64: "?" }), EnvelopeError);
});

Deno.test("what is nested so deeply that a reader's stack might overflow is bytes, and no JSON", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  const quoted = `{"a":"\\"${"[".repeat(2000)}"}`;
  for (const text of [nested(500), quoted]) {
    const sent = envelopeOf(event("deep", text));
    assert.equal(sent, `{"type":"deep","id":"","payload":${text}}`);
    assert.deepEqual(bytes(payloadOf(parseEnvelope(sent))), bytes(text));
  }
  for (const depth of [501, 4000, 200_000]) {
    const sent = envelopeOf(event("deep", nested(depth)));
    assert.match(sent, /^\{"type":"deep","id":"","payload":null,"payload_base64":"/);
    assert.deepEqual(bytes(payloadOf(parseEnvelope(sent))), bytes(nested(depth)));
  }
  assert.throws(
    () => parseEnvelope(`{"type":"deep","payload":${nested(4000)}}`),
    /not JSON that can be read: .*too deeply/,
  );
});

Deno.test("a topic is a type, or a type and an id", () => {
  for (
    const [topic, type, id] of [
      ["color", "color", ""],
      ["message.sent:conv-123", "message.sent", "conv-123"],
      ["a:b", "a", "b"],
      ["a:b:c", "a", "b:c"],
      ["a:b.c", "a:b.c", ""],
      ["a:b.c:d", "a:b.c", "d"],
      ["a:", "a:", ""],
      [":a", ":a", ""],
    ]
  ) {
    assert.deepEqual(partsOf(topic), { type, id });
    assert.equal(topicOf({ type, id }), topic);
  }
  assert.throws(() => topicOf({ type: "a", id: "b.c" }), /the id "b\.c" holds a dot/);
  assert.throws(() => topicOf({ type: "a:b", id: "c" }), /the type "a:b" ends with an id already/);
});

Deno.test("property: every topic comes back from its type and id", () => {
  fc.assert(fc.property(fc.string({ unit: fc.constantFrom("a", ".", ":", "é") }), (topic) => {
    assert.equal(topicOf(partsOf(topic)), topic);
  }));
});

Deno.test("a payload is the value that it is, a string, or base64", () => {
  const envelope = (payload: Uint8Array | string) => envelopeOf(event("message.sent:conv-1", payload));
  assert.equal(envelope('{"a":1.0}'), '{"type":"message.sent","id":"conv-1","payload":{"a":1.0}}');
  assert.equal(envelope("red"), '{"type":"message.sent","id":"conv-1","payload":"red"}');
  assert.equal(envelope("red\n"), '{"type":"message.sent","id":"conv-1","payload":"red\\n"}');
  assert.equal(envelope('"5"'), '{"type":"message.sent","id":"conv-1","payload":"5"}');
  // What the value alone does not lead back to.
  assert.equal(envelope("5\n"), '{"type":"message.sent","id":"conv-1","payload":5,"payload_base64":"NQo="}');
  assert.equal(envelope('"red"'), '{"type":"message.sent","id":"conv-1","payload":"red","payload_base64":"InJlZCI="}');
  assert.equal(
    envelope(Uint8Array.of(0xff)),
    '{"type":"message.sent","id":"conv-1","payload":null,"payload_base64":"/w=="}',
  );
  assert.equal(
    withPosition(envelope("red"), { id: '7 "a"', time: "2026-05-08T12:34:56Z" }),
    '{"type":"message.sent","id":"conv-1","payload":"red","at":"7 \\"a\\"","time":"2026-05-08T12:34:56Z"}',
  );
  // The names of files may hold what a topic may not.
  assert.equal(envelopeOf(event("two words:x", "")), '{"type":"two%20words","id":"x","payload":""}');
});

Deno.test("property: every JSON value comes through the bus, and every number as it was written", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      const text = JSON.stringify({ type: "a", id: "", payload: value });
      const payload = bytes(payloadOf(parseEnvelope(text)));
      const received = JSON.parse(envelopeOf(event("a", payload)));
      assert.deepEqual(received, JSON.parse(text));
    }),
    { numRuns: 2000 },
  );
  const exact = '{"a":12345678901234567890,"b":[1.0,-0,1E400]}';
  const payload = payloadOf(parseEnvelope(`{"type":"a","payload":${exact}}`));
  assert.equal(payload, exact);
  assert.equal(envelopeOf(event("a", payload)), `{"type":"a","id":"","payload":${exact}}`);
});

Deno.test("property: every byte string comes through an envelope", () => {
  const json = fc.json().map(bytes);
  const padded = fc.tuple(fc.constantFrom("", " ", "\n", "\ufeff"), fc.json(), fc.constantFrom("", "\r\n", " "))
    .map((parts) => bytes(parts.join("")));
  const text = fc.string({ unit: "binary" }).map(bytes);
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array(), json, padded, text), (payload) => {
      const envelope = parseEnvelope(envelopeOf(event("a", payload)));
      assert.deepEqual(bytes(payloadOf(envelope)), payload);
    }),
    { numRuns: 5000 },
  );
});
