/** The hub's wire, by a peer made of bytes: frames in pieces and out of order, and every kind of bad input. */
import assert from "node:assert/strict";
import { concatenated } from "../../lib/bytes.ts";
import { until } from "../deadline.ts";
import { writeAll } from "./bytes_reader.ts";
import { HubProcess } from "./hub_process.ts";
import { encodeFrame, handshakeText, type Heard, OPCODE, RawWebSocket, type SentFrame } from "./raw_websocket.ts";

const { continuation, text, binary, close, ping, pong } = OPCODE;
const utf8 = new TextEncoder();

/** An `__error`, without the words that it is wrapped in. */
function reasonOf({ type, id, payload }: Heard): string {
  assert.deepEqual([type, id], ["__error", ""]);
  return payload.reason;
}

/** A hub, one peer that is to be badly treated, and one that must not notice. */
class Scene implements AsyncDisposable {
  readonly hub: HubProcess;
  readonly peer: RawWebSocket;
  readonly bystander: RawWebSocket;

  private constructor(hub: HubProcess, peer: RawWebSocket, bystander: RawWebSocket) {
    this.hub = hub;
    this.peer = peer;
    this.bystander = bystander;
  }

  static async begin(...args: readonly string[]): Promise<Scene> {
    const hub = await HubProcess.start(...args);
    const peer = await RawWebSocket.connect(hub.port);
    const bystander = await RawWebSocket.connect(hub.port);
    await bystander.subscribe("color");
    return new Scene(hub, peer, bystander);
  }

  /** Another peer for the same hub. */
  another(): Promise<RawWebSocket> {
    return RawWebSocket.connect(this.hub.port);
  }

  /** Whoever did nothing still has an event that anybody publishes. */
  async bystanderIsWell(): Promise<void> {
    using publisher = await this.another();
    await publisher.say({ type: "color", payload: "red" });
    assert.deepEqual(await this.bystander.hear(), { type: "color", id: "", payload: "red" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.peer[Symbol.dispose]();
    this.bystander[Symbol.dispose]();
    await this.hub[Symbol.asyncDispose]();
  }
}

Deno.test("a message may come in pieces, with control frames in between", async () => {
  await using scene = await Scene.begin();
  const { peer } = scene;
  const said = utf8.encode('{"type":"__ping","payload":"é🔴"}');
  const pieces = Array.from(said, (byte) => Uint8Array.of(byte));
  await peer.send(
    { opcode: text, fin: false, payload: pieces[0] },
    { opcode: ping, payload: "are you there" },
    ...pieces.slice(1).map((payload): SentFrame => ({ opcode: continuation, fin: false, payload })),
    { opcode: pong, payload: "that nobody asked for" },
    { opcode: continuation },
  );
  const answer = await peer.frame();
  assert.deepEqual([answer?.opcode, new TextDecoder().decode(answer?.payload)], [pong, "are you there"]);
  assert.deepEqual(await peer.hear(), { type: "__pong", id: "", payload: "é🔴" });

  // A message in pieces, and another after it, in one packet and in as many packets as there are bytes.
  const bytes = concatenated([
    { opcode: binary, fin: false, payload: '{"type":"__ping","payload":' },
    { opcode: continuation, payload: "1}" },
    { opcode: text, payload: '{"type":"__ping","payload":2}' },
  ].map(encodeFrame));
  await writeAll(peer.connection, bytes);
  for (const byte of bytes) await writeAll(peer.connection, Uint8Array.of(byte));
  assert.deepEqual((await peer.take(4)).map(({ payload }) => payload), [1, 2, 1, 2]);
  await scene.bystanderIsWell();
});

Deno.test("pings between frames are answered with what they hold, in order", async () => {
  await using scene = await Scene.begin();
  const { peer } = scene;
  const frames = Array.from({ length: 200 }, (_, i): SentFrame[] => [
    { opcode: ping, payload: `ping ${i}` },
    { opcode: text, payload: `{"type":"__ping","payload":${i}}` },
  ]).flat();
  await peer.send(...frames);
  const pongs = [];
  const answers = [];
  while (answers.length < 200 || pongs.length < 200) {
    const { opcode, payload } = await peer.frame() ?? assert.fail("the connection ended");
    const content = new TextDecoder().decode(payload);
    if (opcode === pong) pongs.push(content);
    else answers.push(JSON.parse(content).payload);
  }
  assert.deepEqual(pongs, Array.from({ length: 200 }, (_, i) => `ping ${i}`));
  assert.deepEqual(answers, Array.from({ length: 200 }, (_, i) => i));
});

Deno.test("a binary frame is read as UTF-8, and one that is none is answered by an error", async () => {
  await using scene = await Scene.begin();
  const { peer } = scene;
  await peer.subscribe("color:é");
  await peer.send({ opcode: binary, payload: '{"type":"color","id":"é","payload":"🔴"}' });
  assert.deepEqual(await peer.hear(), { type: "color", id: "é", payload: "🔴" });
  for (const payload of [Uint8Array.of(0xff), utf8.encode('{"type":"a","payload":"é"}').subarray(0, -3)]) {
    await peer.send({ opcode: binary, payload });
    assert.equal(reasonOf(await peer.hear()), "this is not UTF-8");
  }
  assert.deepEqual(await peer.settled(), []);
  await scene.bystanderIsWell();
});

const LIMIT = 1000;

Deno.test("what is too large, in whatever it comes, is answered by an error, and the rest is unharmed", async () => {
  await using scene = await Scene.begin("--max-message", String(LIMIT));
  const { peer } = scene;
  await peer.subscribe("n");
  const event = (bytes: number) => {
    const empty = '{"type":"n","payload":""}';
    return empty.replace('""', JSON.stringify("x".repeat(bytes - empty.length)));
  };
  const halves = (payload: string): SentFrame[] => [
    { opcode: text, fin: false, payload: payload.slice(0, 10) },
    { opcode: continuation, payload: payload.slice(10) },
  ];
  await peer.send(
    { opcode: text, payload: event(LIMIT) },
    { opcode: text, payload: event(LIMIT + 1) },
    { opcode: binary, payload: event(LIMIT) },
    { opcode: binary, payload: event(LIMIT + 1) },
    ...halves(event(LIMIT)),
    ...halves(event(LIMIT + 1)),
    // Fewer characters than may be, but more bytes.
    { opcode: text, payload: event(LIMIT).replace("xx", "xé") },
    // Whoever waits for an answer is told, though the envelope has not been read.
    { opcode: text, payload: event(LIMIT * 100).replace("}", ',"ref":17}') },
    { opcode: text, payload: event(LIMIT) },
  );
  const heard = await peer.take(9);
  const reason = `this message is too large: ${LIMIT} bytes are allowed`;
  assert.deepEqual(
    heard.filter(({ type }) => type === "n").map(({ payload }) => payload.length),
    Array(4).fill(LIMIT - '{"type":"n","payload":""}'.length),
  );
  const errors = heard.filter(({ type }) => type !== "n");
  assert.deepEqual(errors.map(reasonOf), Array(5).fill(reason));
  assert.deepEqual(errors.map(({ payload }) => payload.ref), [undefined, undefined, undefined, undefined, 17]);
  await scene.bystanderIsWell();
});

const pair = (opcode: number, payload: Uint8Array | string): readonly SentFrame[] => [{ opcode, payload }];

/** Frames that break the rules of RFC 6455, for which a connection is ended. */
const MALFORMED: Readonly<Record<string, readonly SentFrame[]>> = {
  "a reserved bit": [{ opcode: text, reserved: 4, payload: "{}" }],
  "all reserved bits": [{ opcode: text, reserved: 7, payload: "{}" }],
  "a reserved opcode": pair(3, "{}"),
  "a reserved control opcode": pair(11, "{}"),
  "a ping of more than 125 bytes": pair(ping, "x".repeat(126)),
  "a ping in pieces": [{ opcode: ping, fin: false, payload: "x" }, { opcode: continuation, payload: "x" }],
  "a continuation of nothing": pair(continuation, "{}"),
  "a message within another": [{ opcode: text, fin: false, payload: "{" }, { opcode: text, payload: "{}" }],
  "text that is not UTF-8": pair(text, Uint8Array.of(0x22, 0xff, 0x22)),
  "text that ends within a character": [
    { opcode: text, fin: false, payload: Uint8Array.of(0x22, 0xc3) },
    { opcode: continuation, payload: Uint8Array.of(0x22) },
  ],
  "a close frame of one byte": pair(close, "x"),
  "a close frame with a code that nobody may send": pair(close, Uint8Array.of(0, 1)),
  "a close frame whose reason is not UTF-8": pair(close, Uint8Array.of(0x03, 0xe8, 0xff)),
  "a frame of 2^60 bytes": [{ opcode: text, length: 2 ** 60, payload: "x" }],
  "a frame of more bytes than JavaScript counts": [{ opcode: text, length: Number.MAX_SAFE_INTEGER, payload: "x" }],
};

Deno.test("a malformed frame ends its connection and nothing else", async (t) => {
  await using scene = await Scene.begin();
  for (const [name, frames] of Object.entries(MALFORMED)) {
    await t.step(name, async () => {
      using peer = await scene.another();
      await peer.subscribe("color", "number");
      await peer.send(...frames);
      await peer.ending();
      await scene.hub.untilMetric("connections", 2);
      await scene.hub.untilMetric("subscriptions", 1);
    });
  }
  await scene.bystanderIsWell();
  await scene.hub.untilMetric("sockets", 2);
});

Deno.test("a peer closes: at once, with a code, in the middle of a message, or without a word", async () => {
  await using scene = await Scene.begin();
  const code = Uint8Array.of(0x03, 0xe8);
  for (
    const frames of [
      [{ opcode: close }],
      [{ opcode: close, payload: code }],
      [{ opcode: close, payload: concatenated([code, utf8.encode("that is all")]) }],
      [{ opcode: text, fin: false, payload: '{"type":"color",' }, { opcode: close, payload: code }],
    ]
  ) {
    using peer = await scene.another();
    await peer.subscribe("number");
    await peer.send(...frames);
    const frame = await peer.frame();
    assert.equal(frame?.opcode, close);
    // What is sent after it is not looked at.
    await peer.say({ type: "color", payload: "blue" }).catch(() => {});
    assert.equal(await peer.frame(), undefined);
  }
  {
    using peer = await scene.another();
    await peer.send({ opcode: text, fin: false, payload: '{"type":"color",' });
    peer.connection.closeWrite();
    await peer.ending();
  }
  {
    using peer = await scene.another();
    await peer.subscribe("number");
    peer.connection.close();
  }
  await scene.hub.untilMetric("connections", 2);
  await scene.hub.untilMetric("sockets", 2);
  await scene.hub.untilMetric("subscriptions", 1);
  await scene.bystanderIsWell();
});

Deno.test("a peer that resets its connection while events are sent to it harms nobody", async () => {
  await using scene = await Scene.begin();
  for (let i = 0; i < 20; i++) {
    const peer = await scene.another();
    await peer.say({ type: "__subscribe", payload: { topic: "color" } });
    await peer.say(...Array(50).fill({ type: "color", payload: "x".repeat(1000) }));
    // What arrives and is not read makes of this a reset.
    peer[Symbol.dispose]();
  }
  await scene.hub.untilMetric("connections", 2);
  await scene.hub.untilMetric("sockets", 2);
  for (const { type } of await scene.bystander.settled()) assert.equal(type, "color");
  await scene.bystanderIsWell();
});

Deno.test("half a handshake, and one that comes byte by byte, keep nobody waiting", async () => {
  await using scene = await Scene.begin();
  const { hub } = scene;
  const handshake = utf8.encode(handshakeText(hub.port));
  const waiting: Deno.Conn[] = [];
  try {
    for (let i = 0; i < 100; i++) {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port: hub.port });
      waiting.push(connection);
      await writeAll(connection, handshake.subarray(0, i % 2 === 0 ? i : handshake.length - i));
    }
    await scene.bystanderIsWell();
    assert.deepEqual([await hub.metric("connections"), await hub.metric("sockets")], [2, 2]);
    // One of them has only been slow.
    const rest = handshake.subarray(handshake.length - 1);
    await writeAll(waiting[1], rest);
    await hub.untilMetric("connections", 3);
  } finally {
    for (const connection of waiting) connection.close();
  }
  await hub.untilMetric("connections", 2);
  await until("that the connections have gone", () => hub.openFiles < 100);
});

Deno.test("what is no handshake is answered so", async () => {
  await using hub = await HubProcess.start();
  for (
    const [headers, answer] of [
      [{ "Sec-WebSocket-Key": null }, /^HTTP\/1\.1 400 .*: this is no WebSocket: .*sec-websocket-key/],
      [{ "Connection": null }, /^HTTP\/1\.1 400 .*: this is no WebSocket: .*connection/],
      [{ "Sec-WebSocket-Version": "8" }, /^HTTP\/1\.1 426 .*: this hub speaks version 13/],
      [{ "Sec-WebSocket-Version": null }, /^HTTP\/1\.1 426 /],
      [{ "Host": "two words" }, /^HTTP\/1\.1 400 .*: .*host/i],
      [{ "Host": "[::" }, /^HTTP\/1\.1 400 /],
    ] as const
  ) {
    await assert.rejects(RawWebSocket.connect(hub.port, { headers }), { message: answer }, JSON.stringify(headers));
  }
  // Nobody can fill the log with what is wrong.
  hub.running.signal("SIGTERM");
  assert.deepEqual(await hub.running.stderr.rest(), []);
});

Deno.test("subprotocols are picked from any way of writing their list", async () => {
  await using hub = await HubProcess.start();
  for (
    const [offered, picked] of [
      ["ollie.batch.v1,ollie.v1", "ollie.batch.v1"],
      ["ollie.v1 ,  ollie.batch.v1", "ollie.batch.v1"],
      ["ollie.v1,graphql-ws", "ollie.v1"],
      ["ollie.token.x,graphql-ws,ollie.v1", "ollie.v1"],
      ["graphql-ws,mqtt", "graphql-ws"],
      ["ollie.batch.v2", "ollie.batch.v2"],
    ] as const
  ) {
    using peer = await RawWebSocket.connect(hub.port, { headers: { "Sec-WebSocket-Protocol": offered } });
    assert.equal(peer.protocol, picked, offered);
    await peer.subscribe("color");
  }
});

/** What each kind of bad input is answered: the reason, and what it is about. */
const BAD: readonly (readonly [sent: string, reason: RegExp, topic?: unknown, ref?: unknown])[] = [
  ["", /^this is not JSON/],
  ["{", /^this is not JSON/],
  ['{"type":"color","payload":red}', /^this is not JSON/],
  ['{"type":"color","payload":1,"ref":5', /^this is not JSON/],
  ["5", /^this is no envelope/],
  ["null", /^this is no envelope/],
  ['"color"', /^this is no envelope/],
  ['[{"type":"color","payload":1}]', /^this is no envelope/],
  ["{}", /needs a "type"/],
  ['{"type":"","payload":1}', /needs a "type"/],
  ['{"type":7,"payload":1}', /needs a "type"/],
  ['{"type":"color","id":7,"payload":1}', /the "id" of an envelope is a string/],
  ['{"type":"color"}', /needs a "payload"/],
  ['{"type":"color","payload_base64":"?"}', /"payload_base64" is not base64/, "color"],
  ['{"type":"color","payload_base64":7}', /"payload_base64" is a string/],
  ['{"type":"__color","payload":1,"ref":"x"}', /the type "__color" is reserved/, undefined, "x"],
  ['{"type":"__error","payload":{"reason":"you"}}', /the type "__error" is reserved/],
  ['{"type":"__published","payload":{}}', /the type "__published" is reserved/],
  ['{"type":"two words","payload":1}', /the topic "two words" holds white space/, "two words"],
  ['{"type":"a..b","payload":1,"ref":{"a":[1]}}', /the topic "a\.\.b" has an empty segment/, "a..b", { a: [1] }],
  ['{"type":"a\\u0000","payload":1}', /control character/, "a\0"],
  [`{"type":"${"x".repeat(201)}","payload":1}`, /it must be at most 200/, "x".repeat(201)],
  ['{"type":"a","id":"b.c","payload":1}', /the id "b\.c" holds a dot/, "a:b.c"],
  ['{"type":"a:b","id":"c","payload":1}', /the type "a:b" ends with an id already/, "a:b:c"],
  ['{"type":"__subscribe","payload":null}', /needs a "topic"/],
  ['{"type":"__subscribe","payload":7}', /needs a "topic"/],
  ['{"type":"__subscribe","payload":{}}', /needs a "topic"/],
  ['{"type":"__subscribe","payload":{"topic":7}}', /needs a "topic"/, 7],
  ['{"type":"__subscribe","payload":{"topic":[]}}', /needs a "topic"/, []],
  ['{"type":"__subscribe","payload":{"topic":["a",7]}}', /needs a "topic"/, ["a", 7]],
  ['{"type":"__subscribe","payload":{"topic":""}}', /the filter "" is empty/, ""],
  ['{"type":"__subscribe","payload":{"topic":"a.>.b"},"ref":1}', /has > before its end/, "a.>.b", 1],
  ['{"type":"__subscribe","payload":{"topic":["a","b..c"]}}', /has an empty segment/, "b..c"],
  ['{"type":"__unsubscribe","payload":{"topic":"a.>.b"}}', /has > before its end/, "a.>.b"],
  ['{"type":"__subscribe","payload":{"topic":"a","replay":-1}}', /"replay" takes "all", or a number/, "a"],
  ['{"type":"__subscribe","payload":{"topic":"a","replay":1.5}}', /"replay" takes "all", or a number/, "a"],
  ['{"type":"__subscribe","payload":{"topic":"a","replay":"1"}}', /"replay" takes "all", or a number/, "a"],
  ['{"type":"__subscribe","payload":{"topic":"a","replay":true}}', /"replay" takes "all", or a number/, "a"],
  ['{"type":"__subscribe","payload":{"topic":"a","after":7}}', /"after" takes the id of an event/, "a"],
  ['{"type":"__subscribe","payload":{"topic":"a","after":"1","replay":1}}', /both say where to begin/, "a"],
  ['{"type":"__subscribe","payload":{"topic":"a","after":"1"},"ref":2}', /keeps no events/, "a", 2],
  ['{"type":"__subscribe","payload":{"topic":"a","replay":"all"}}', /keeps no events/, "a"],
];

Deno.test("every kind of bad input is answered by an error that says why, and changes nothing", async () => {
  await using scene = await Scene.begin();
  const { peer } = scene;
  await peer.subscribe("color");
  for (const [sent, reason, topic, ref] of BAD) {
    await peer.send({ opcode: text, payload: sent });
    const heard = await peer.hear();
    assert.match(reasonOf(heard), reason, sent);
    assert.deepEqual([heard.payload.topic, heard.payload.ref], [topic, ref], sent);
    assert.deepEqual(await peer.settled(), [], sent);
  }
  assert.equal(await scene.hub.metric("errors_total"), BAD.length);
  // Nothing of it was published, and nothing of a list with one bad filter was subscribed to.
  assert.deepEqual(
    [await scene.hub.metric("events_published_total"), await scene.hub.metric("subscriptions")],
    [0, 2],
  );
  await scene.bystanderIsWell();
  assert.deepEqual(await peer.hear(), { type: "color", id: "", payload: "red" });
});

Deno.test("what is nested deeper than anybody can read is refused, and the hub goes on", async () => {
  await using scene = await Scene.begin();
  const { peer } = scene;
  for (const depth of [10_000, 100_000, 500_000]) {
    const payload = "[".repeat(depth) + "]".repeat(depth);
    await peer.send({ opcode: text, payload: `{"type":"deep","payload":${payload}}` });
    assert.equal((await peer.hear()).type, "__error");
    await peer.send({ opcode: text, payload: `{"type":"__subscribe","payload":{"topic":${payload}}}` });
    assert.equal((await peer.hear()).type, "__error");
  }
  await scene.bystanderIsWell();
});

Deno.test("there are no more subscriptions than may be, and those that are given up make room", async () => {
  await using scene = await Scene.begin("--max-subscriptions", "3");
  const { peer } = scene;
  const refused = "a connection may subscribe to 3 filters, and no more";
  await peer.subscribe("a", "b", "b", "a", "c");
  await peer.say({ type: "__subscribe", payload: { topic: "d" }, ref: 1 });
  const heard = await peer.hear();
  assert.deepEqual([reasonOf(heard), heard.payload.topic, heard.payload.ref], [refused, "d", 1]);
  await peer.say({ type: "__unsubscribe", payload: { topic: ["b", "nothing.like.it"] } });
  // Two do not fit, so that none is subscribed to; and one that is named twice is one.
  await peer.say({ type: "__subscribe", payload: { topic: ["d", "e"] } });
  assert.equal(reasonOf(await peer.hear()), refused);
  await peer.say({ type: "__subscribe", payload: { topic: ["d", "d", "a"] } });
  assert.deepEqual(await peer.settled(), []);
  assert.equal(await scene.hub.metric("subscriptions"), 4);
  await peer.say(...["a", "b", "c", "d", "e"].map((type) => ({ type, payload: 1 })));
  assert.deepEqual((await peer.take(3)).map(({ type }) => type), ["a", "c", "d"]);
  assert.deepEqual(await peer.settled(), []);
  await scene.bystanderIsWell();
});

Deno.test("the hundredth error in a minute ends the connection with 1008", async () => {
  await using scene = await Scene.begin();
  const { peer } = scene;
  await peer.send(...Array<SentFrame>(99).fill({ opcode: text, payload: "red" }));
  for (const heard of await peer.take(99)) assert.match(reasonOf(heard), /^this is not JSON/);
  assert.deepEqual(await peer.settled(), []);
  await peer.send({ opcode: text, payload: "red" });
  const { code, reason } = await peer.ending() ?? assert.fail("there was no close frame");
  assert.equal(code, 1008);
  assert.match(reason, /^100 errors in a minute; the last: this is not JSON/);
  await scene.bystanderIsWell();
  // A reason that is too long for a close frame is cut, and not within a character.
  using another = await scene.another();
  const topic = `${"é".repeat(40)} `;
  await another.send(
    ...Array<SentFrame>(100).fill({ opcode: text, payload: JSON.stringify({ type: topic, payload: 1 }) }),
  );
  const ending = await another.ending();
  assert.equal(ending?.code, 1008);
  assert.match(ending.reason, /^100 errors in a minute; the last: the topic "é+.*\.\.\.$/);
  assert(utf8.encode(ending.reason).length <= 123);
  await scene.bystanderIsWell();
});
