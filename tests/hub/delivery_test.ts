/** What a hub makes of envelopes: who gets which event, once and in order, from now on or from the past. */
import assert from "node:assert/strict";
import { DirectoryBus } from "../../mod.ts";
import { temporaryDirectory } from "../temporary.ts";
import { HubProcess } from "./hub_process.ts";
import { type Heard, RawWebSocket } from "./raw_websocket.ts";

/** Type and payload: what most tests ask of an event. */
const brief = ({ type, payload }: Heard) => [type, payload];

Deno.test("an event comes once, however many filters match it, to whoever subscribed: the sender, too", async () => {
  await using hub = await HubProcess.start();
  using sender = await RawWebSocket.connect(hub.port);
  using receiver = await RawWebSocket.connect(hub.port);
  using other = await RawWebSocket.connect(hub.port);
  await sender.subscribe("session.*.state", "session.a.state", "session.>", ">", "*", "session.a.>");
  await receiver.subscribe("session.*.state", "*.a.*", "message.sent:*");
  await other.subscribe("session.*", "session.b.state", "session.a", "message.sent", "message.*:conv-1");
  await sender.say(
    { type: "session.a.state", payload: { up: true } },
    { type: "message.sent", id: "conv-1", payload: ["hello"] },
    // An id at the end of the type is the same topic.
    { type: "message.sent:conv-2", payload: null },
    { type: "number", payload: 5 },
  );
  const all = [
    { type: "session.a.state", id: "", payload: { up: true } },
    { type: "message.sent", id: "conv-1", payload: ["hello"] },
    { type: "message.sent", id: "conv-2", payload: null },
    { type: "number", id: "", payload: 5 },
  ];
  assert.deepEqual(await sender.take(4), all);
  assert.deepEqual(await receiver.take(3), all.slice(0, 3));
  for (const peer of [sender, receiver, other]) assert.deepEqual(await peer.settled(), []);
  assert.equal(await hub.metric("events_delivered_total"), 7);
});

Deno.test("what is given up comes no more, and other filters that match the same still count", async () => {
  await using hub = await HubProcess.start();
  using peer = await RawWebSocket.connect(hub.port);
  await peer.subscribe("a", ">", "b:*", "b:1");
  const events = ["a", "b:1", "c"].map((type) => ({ type, payload: 1 }));
  const heardAfter = async (...topics: unknown[]) => {
    await peer.say(...topics.map((topic) => ({ type: "__unsubscribe", payload: { topic } })), ...events);
    await peer.say({ type: "last", payload: null, ref: "last" });
    const heard = [];
    for (let envelope; (envelope = await peer.hear()).type !== "__published";) heard.push(envelope);
    heard.push(...await peer.settled());
    return heard.filter(({ type }) => type !== "last").map(({ type, id }) => `${type}:${id}`);
  };
  assert.deepEqual(await heardAfter("a"), ["a:", "b:1", "c:"]);
  assert.deepEqual(await heardAfter(">"), ["b:1"]);
  assert.deepEqual(await heardAfter("b:2", "b"), ["b:1"]);
  assert.deepEqual(await heardAfter(["b:*"]), ["b:1"]);
  assert.deepEqual(await heardAfter(["b:1", "a"]), []);
  await peer.subscribe("c");
  assert.deepEqual(await heardAfter(), ["c:"]);
  assert.equal(await hub.metric("subscriptions"), 1);
});

Deno.test("whoever gives a ref is told that the event is on the bus, and where; or why not", async () => {
  using directory = temporaryDirectory();
  await using hub = await HubProcess.start(directory.path);
  using peer = await RawWebSocket.connect(hub.port);
  const refs = [1, "two", null, { a: [1] }, 12345678901234567890n, false, ""];
  for (const ref of refs) {
    // The value comes back as it was written, also where JavaScript has no such number.
    const written = typeof ref === "bigint" ? String(ref) : JSON.stringify(ref);
    await peer.send({ opcode: 1, payload: `{"type":"color","payload":"red","ref":${written}}` });
    const text = await peer.text();
    const { type, payload: { at, time } } = JSON.parse(text);
    assert(text.includes(`"ref":${written}`), text);
    assert.deepEqual([type, Deno.readTextFileSync(`${directory.path}/events/${at}`)], ["__published", "red"]);
    assert.match(at, /_color$/);
    assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
    assert.equal(at.slice(0, 29), time.slice(0, 29).replace(".", ","));
  }
  await peer.say({ type: "color", payload: "red" }, { type: "a b", payload: 1, ref: "x" });
  const [refused, ...more] = await peer.settled();
  assert.deepEqual([refused.type, refused.payload.ref, more], ["__error", "x", []]);
  assert.equal([...Deno.readDirSync(`${directory.path}/events`)].length, refs.length + 1);
});

Deno.test("events that a connection publishes come in the order in which it sent them", async () => {
  using directory = temporaryDirectory();
  await using hub = await HubProcess.start(directory.path);
  using publisher = await RawWebSocket.connect(hub.port);
  using subscriber = await RawWebSocket.connect(hub.port);
  await subscriber.subscribe(">");
  const count = 1000;
  await publisher.say(...Array.from({ length: count }, (_, i) => ({ type: `n.${i % 7}`, payload: i })));
  assert.deepEqual(
    (await subscriber.take(count)).map(({ payload }) => payload),
    Array.from({ length: count }, (_, i) => i),
  );
});

Deno.test("the past: all of it, the last few, none, or what comes after an event", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  const ids: string[] = [];
  for (let i = 0; i < 10; i++) ids.push((await bus.publish(i % 2 === 0 ? "even" : "odd", String(i))).id);
  await using hub = await HubProcess.start(directory.path);
  for (
    const [asked, expected] of [
      [{ topic: ">", replay: "all" }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
      [{ topic: ["even", "nothing"], replay: "all" }, [0, 2, 4, 6, 8]],
      [{ topic: ">", replay: 3 }, [7, 8, 9]],
      [{ topic: ["odd", ">"], replay: 3 }, [7, 8, 9]],
      [{ topic: "odd", replay: 3 }, [5, 7, 9]],
      [{ topic: "odd", replay: 1e6 }, [1, 3, 5, 7, 9]],
      [{ topic: "odd", replay: 0 }, []],
      [{ topic: ">", after: ids[7] }, [8, 9]],
      [{ topic: "even", after: ids[7] }, [8]],
      [{ topic: ">", after: ids[9] }, []],
      // A place between two events is one, too.
      [{ topic: ">", after: ids[7].replace(/_.*/, "_zebra") }, [8, 9]],
    ] as const
  ) {
    using peer = await RawWebSocket.connect(hub.port);
    await peer.say({ type: "__subscribe", payload: asked, ref: 7 });
    const said = JSON.stringify(asked);
    const heard = await peer.take(expected.length + 1);
    const { type, payload } = heard.pop() ?? {};
    assert.deepEqual(heard.map(brief), expected.map((i) => [i % 2 === 0 ? "even" : "odd", i]), said);
    assert.deepEqual([type, payload.topic, payload.ref, payload.at], ["__subscribed", asked.topic, 7, ids[9]], said);
    for (const { at, time, payload: i } of heard) {
      assert.equal(at, ids[i], said);
      assert.equal(time, `${ids[i].slice(0, 29).replace(",", ".")}Z`, said);
    }
    assert.deepEqual(await peer.settled(), [], said);
  }
});

Deno.test("after the past comes what follows, with its place, and what is given up within the past does not", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  await bus.publish("color", "1");
  await using hub = await HubProcess.start(directory.path);
  using peer = await RawWebSocket.connect(hub.port);
  await peer.say({ type: "__subscribe", payload: { topic: ["color", "number"], replay: "all" } });
  assert.deepEqual((await peer.take(2)).map(({ type }) => type), ["color", "__subscribed"]);
  const { id, time } = await bus.publish("color", "2");
  assert.deepEqual(await peer.hear(), { type: "color", id: "", payload: 2, at: id, time });
  // A connection that wanted positions once gets them for all it subscribes to.
  await peer.subscribe("session.>");
  const other = await bus.publish("session.a", "3");
  assert.deepEqual(await peer.hear(), { type: "session.a", id: "", payload: 3, at: other.id, time: other.time });
  await peer.say({ type: "__unsubscribe", payload: { topic: "color" } });
  await peer.settled();
  await bus.publish("color", "4");
  await bus.publish("number", "5");
  assert.deepEqual(brief(await peer.hear()), ["number", 5]);

  // Given up before any of it has come.
  using quick = await RawWebSocket.connect(hub.port);
  await quick.say(
    { type: "__subscribe", payload: { topic: ["color", "number"], replay: "all" } },
    { type: "__unsubscribe", payload: { topic: "color" } },
  );
  assert.deepEqual(brief(await quick.hear()), ["number", 5]);
  assert.equal((await quick.hear()).type, "__subscribed");
  // Given up altogether, so that there is nothing to be told.
  await quick.say(
    { type: "__subscribe", payload: { topic: "color", replay: "all" } },
    { type: "__unsubscribe", payload: { topic: "color" } },
  );
  assert.deepEqual(await quick.settled(), []);
  assert.equal(await hub.metric("subscriptions"), 3);
  // And begun anew.
  await quick.say({ type: "__subscribe", payload: { topic: "color", replay: 1 } });
  assert.deepEqual(brief(await quick.hear()), ["color", 4]);
});

Deno.test("a place to come back to is told before there is any event, and leads to all that comes", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  await using hub = await HubProcess.start(directory.path);
  using first = await RawWebSocket.connect(hub.port);
  for (const replay of [0, "all"]) {
    await first.say({ type: "__subscribe", payload: { topic: `color.${replay}`, replay } });
    assert.deepEqual((await first.hear()).payload, { topic: `color.${replay}`, at: null });
  }
  await first.subscribe("color");
  const red = await bus.publish("color", "red");
  await first.hear();
  await bus.publish("number", "5");
  using second = await RawWebSocket.connect(hub.port);
  await second.say({ type: "__subscribe", payload: { topic: "color", after: red.id } });
  const { type, payload: { at } } = await second.hear();
  assert.equal(type, "__subscribed");
  second[Symbol.dispose]();
  const blue = await bus.publish("color", "blue");
  using third = await RawWebSocket.connect(hub.port);
  await third.say({ type: "__subscribe", payload: { topic: "color", after: at } });
  assert.deepEqual(await third.hear(), { type: "color", id: "", payload: "blue", at: blue.id, time: blue.time });
});

Deno.test("a bus that keeps nothing tells places, but has no past", async () => {
  await using hub = await HubProcess.start();
  using peer = await RawWebSocket.connect(hub.port);
  await peer.say({ type: "__subscribe", payload: { topic: "color", replay: 0 } });
  assert.deepEqual(await peer.hear(), { type: "__subscribed", id: "", payload: { topic: "color" } });
  await peer.say({ type: "color", payload: "red" });
  const { at, time, ...event } = await peer.hear();
  assert.deepEqual([event, typeof at], [{ type: "color", id: "", payload: "red" }, "string"]);
  assert.match(time, /Z$/);
  await peer.say({ type: "__subscribe", payload: { topic: "number", after: at } });
  assert.match((await peer.hear()).payload.reason, /a mem: bus keeps no events/);
  assert.equal(await hub.metric("subscriptions"), 1);
});

Deno.test("what a script has put into the directory comes under a topic that stands in a word", async () => {
  using directory = temporaryDirectory();
  Deno.mkdirSync(`${directory.path}/events`);
  const name = "2026-05-08T12:34:56,000000001+00:00_two words:x";
  Deno.writeTextFileSync(`${directory.path}/events/${name}`, "red");
  await using hub = await HubProcess.start(directory.path);
  using peer = await RawWebSocket.connect(hub.port);
  await peer.say({ type: "__subscribe", payload: { topic: ">", replay: "all" } });
  const { at, ...event } = await peer.hear();
  assert.deepEqual(event, {
    type: "two%20words",
    id: "x",
    payload: "red",
    time: "2026-05-08T12:34:56.000000001Z",
  });
  assert.equal(at, name);
});

Deno.test("one connection gets batches, another a frame for each envelope, and both the same events", async () => {
  using directory = temporaryDirectory();
  await using hub = await HubProcess.start(directory.path);
  using plain = await RawWebSocket.connect(hub.port, { protocols: ["ollie.v1"] });
  using batch = await RawWebSocket.connect(hub.port, { protocols: ["ollie.v1", "ollie.batch.v1"] });
  using foreign = await RawWebSocket.connect(hub.port, { protocols: ["graphql-ws", "mqtt"] });
  using none = await RawWebSocket.connect(hub.port);
  assert.deepEqual(
    [plain, batch, foreign, none].map(({ protocol }) => protocol),
    ["ollie.v1", "ollie.batch.v1", "graphql-ws", undefined],
  );
  const subscribe = { type: "__subscribe", payload: { topic: "n", replay: 0 } };
  await plain.say(subscribe);
  await plain.hear();
  await batch.say(subscribe);
  assert.equal((await batch.text()).split("\n").length, 1);
  // A payload with newlines in it, as a string and between the tokens of JSON.
  const payloads = ["a\nb", '{\n  "a":\r\n  1\n}\n', ...Array.from({ length: 2000 }, (_, i) => String(i))];
  await using bus = new DirectoryBus(directory.path);
  const publishing = (async () => {
    for (const payload of payloads) await bus.publish("n", payload);
  })();
  const lines: string[] = [];
  let frames = 0;
  while (lines.length < payloads.length) {
    lines.push(...(await batch.text()).split("\n"));
    frames++;
  }
  await publishing;
  const single = [];
  for (let i = 0; i < payloads.length; i++) single.push(await plain.text());
  assert.deepEqual(lines, single);
  assert.deepEqual(lines.slice(0, 2).map((line) => JSON.parse(line).payload), ["a\nb", { a: 1 }]);
  assert(frames <= lines.length);

  // The past comes in batches, too: many envelopes to a frame.
  await batch.say({ type: "__subscribe", payload: { topic: "n", replay: "all" } });
  const past: string[] = [];
  for (frames = 0; past.length < payloads.length; frames++) past.push(...(await batch.text()).split("\n"));
  assert.deepEqual(past.slice(0, payloads.length), single);
  assert(frames < payloads.length / 10, `${frames} frames`);
  // To the hub there is one envelope in a frame on such a connection, too.
  await batch.send({ opcode: 1, payload: '{"type":"n","payload":1}\n{"type":"n","payload":2}' });
  let last: Heard = {};
  while (last.type !== "__error") last = JSON.parse((await batch.text()).split("\n").at(-1) ?? "");
  assert.match(last.payload.reason, /^this is not JSON/);
});

Deno.test("an event is delivered once while the past of another filter is being replayed", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  const count = 12_000;
  for (let i = 0; i < count; i++) await bus.publish("s", "");
  await using hub = await HubProcess.start(directory.path);
  using peer = await RawWebSocket.connect(hub.port);
  await peer.subscribe("color");
  await peer.say(
    { type: "__subscribe", payload: { topic: ">", replay: "all" } },
    { type: "color", payload: "red" },
    { type: "color", payload: "blue" },
  );
  const heard: Heard[] = [];
  do heard.push(await peer.hear()); while (heard.at(-1)?.type !== "__subscribed");
  heard.push(...await peer.settled());
  const events = heard.filter(({ at }) => at !== undefined);
  assert.deepEqual(events.filter(({ type }) => type === "color").map(({ payload }) => payload), ["red", "blue"]);
  assert.equal(events.length, count + 2);
  assert.equal(new Set(events.map(({ at }) => at)).size, count + 2);
});

Deno.test("a client that reads has all of the past, however large its events are", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  const sizes: number[] = [];
  for (let i = 0; i < 200; i++) sizes.push(i % 20 === 19 ? 1_040_000 : 5000);
  for (const [i, size] of sizes.entries()) await bus.publish(`n.${i}`, "x".repeat(size));
  await using hub = await HubProcess.start(directory.path);
  for (const protocols of [[], ["ollie.batch.v1"]]) {
    using peer = await RawWebSocket.connect(hub.port, { protocols });
    await peer.say({ type: "__subscribe", payload: { topic: ">", replay: "all" } });
    const heard: Heard[] = [];
    while (heard.length < sizes.length + 1) {
      heard.push(...(await peer.text()).split("\n").map((line) => JSON.parse(line)));
    }
    assert.equal(heard.pop()?.type, "__subscribed");
    assert.deepEqual(
      heard.map(({ type, payload }) => [type, payload.length]),
      sizes.map((size, i) => [`n.${i}`, size]),
    );
  }
  assert.equal(await hub.metric("slow_consumers_total"), 0);
});
