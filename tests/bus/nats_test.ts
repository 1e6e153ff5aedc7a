/** A NATS bus against a real server: what every bus does, with a stream and without one, and what others see of it. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { BusError, type BusEvent, FilterError, type Position, SlowConsumerError, TopicError } from "../../mod.ts";
import { NatsBus } from "../../lib/bus/nats.ts";
import type { NatsOptions } from "../../lib/bus/nats/options.ts";
import { headers, jetstreamManager } from "../../lib/bus/nats/library.ts";
import { within } from "../deadline.ts";
import { ignore, NatsServer } from "../nats_server.ts";
import { payloadsOf, take, textsOf } from "./reading.ts";

const STREAM = { stream: "EVENTS", createStream: true } as const;
const KINDS: readonly (readonly [string, NatsOptions])[] = [["without a stream", {}], ["with a stream", STREAM]];

/** A test of a bus on a server of its own, with a stream and without one. */
function testBoth(name: string, run: (bus: NatsBus, server: NatsServer, options: NatsOptions) => Promise<void>): void {
  for (const [kind, options] of KINDS) testOne(`${name}, ${kind}`, options, run);
}

function testOne(
  name: string,
  options: NatsOptions,
  run: (bus: NatsBus, server: NatsServer, options: NatsOptions) => Promise<void>,
): void {
  Deno.test({
    name,
    ignore,
    fn: async () => {
      await using server = await NatsServer.start({ jetStream: options.stream !== undefined });
      await using bus = new NatsBus(server.url(), options);
      await run(bus, server, options);
    },
  });
}

testBoth("each subscriber gets what matches, once, in order", async (bus, server, options) => {
  const all = bus.subscribe(">");
  const some = bus.subscribe(["color", "*", "c.*"]);
  const colors = bus.subscribe("color");
  const overlapping = bus.subscribe(["c.*", "*.d", "message:*"]);
  const nothing = bus.subscribe([]);
  await Promise.all([all.ready, some.ready, colors.ready, overlapping.ready, nothing.ready]);
  await using other = new NatsBus(server.url(), options);
  const events = [["color", "red"], ["number", "one"], ["message:5", "hi"], ["color", "blue"], ["c.d", "x"]] as const;
  for (const [topic, payload] of events) await other.publish(topic, payload);
  assert.deepEqual(await textsOf(all, 5), ["red", "one", "hi", "blue", "x"]);
  assert.deepEqual(await textsOf(some, 5), ["red", "one", "hi", "blue", "x"]);
  assert.deepEqual(await textsOf(colors, 2), ["red", "blue"]);
  assert.deepEqual(await textsOf(overlapping, 2), ["hi", "x"]);
});

testBoth(
  "an event is what its publisher was told, to the byte, and the same for everybody",
  async (bus, server, options) => {
    await using other = new NatsBus(server.url(), options);
    const here = bus.subscribe(">");
    const there = other.subscribe("a.>");
    await Promise.all([here.ready, there.ready]);
    const payload = Uint8Array.of(0, 255, 10, 13);
    const published = await bus.publish("a.é/50%", payload);
    const [event] = await take(here, 1);
    assert.deepEqual(event, { ...published, topic: "a.é/50%", payload });
    assert.deepEqual(await take(there, 1), [event]);
    assert.match(published.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
    assert(Math.abs(Date.parse(published.time) - Date.now()) < 60_000);
    const again = await bus.publish("a.é/50%", payload);
    assert.notEqual(again.id, published.id);
    assert(again.time > published.time);
  },
);

testBoth("property: every topic and every payload comes through", async (bus) => {
  const events = bus.subscribe(">");
  await events.ready;
  const segment = fc.oneof(
    fc.constantFrom("*", ">", "%", "%2A", "a:*", "$x", "_y", "é", "名前", "a/b"),
    fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 10 }).filter((text) => /^[^\s.]+$/.test(text)),
  );
  const topics = fc.array(segment, { minLength: 1, maxLength: 4 })
    .map((segments) => segments.join(".")).filter((topic) => !topic.startsWith("__"));
  await fc.assert(
    fc.asyncProperty(topics, fc.uint8Array({ size: "medium" }), async (topic, payload) => {
      const { id, time } = await bus.publish(topic, payload);
      assert.deepEqual(await take(events, 1), [{ id, time, topic, payload }]);
      // The topic is a filter that has it come, although it may have others come, too; unless it is no filter.
      if (topic.split(".").slice(0, -1).includes(">")) return;
      const exact = bus.subscribe(topic);
      await exact.ready;
      await bus.publish(topic, "again");
      assert.deepEqual((await take(exact, 1)).map((event) => event.topic), [topic]);
      await exact.return();
      await take(events, 1);
    }),
    { numRuns: 100, endOnFailure: true },
  );
});

testBoth("leaving the loop, disposing, a signal and the end of the bus end a subscription", async (bus) => {
  const stop = new AbortController();
  const [left, disposed, stopped, ended] = [{}, {}, { signal: stop.signal }, {}].map((options) =>
    bus.subscribe(">", options)
  );
  await Promise.all([left, disposed, stopped, ended].map(({ ready }) => ready));
  await bus.publish("a", "1");
  for await (const _ of left) break;
  await disposed[Symbol.asyncDispose]();
  stop.abort();
  const unborn = bus.subscribe(">");
  await bus[Symbol.asyncDispose]();
  for (const subscription of [left, disposed, stopped, ended, unborn]) {
    assert.deepEqual(await within(subscription.next(), "the end"), { done: true, value: undefined });
  }
  await assert.rejects(bus.publish("a", "2"), /was closed/);
  await assert.rejects(bus.subscribe(">").next(), /was closed/);
});

testBoth("a signal that is aborted already, before there is a connection, leaves nothing behind", async (bus) => {
  const already = bus.subscribe(">", { signal: AbortSignal.abort() });
  assert.deepEqual(await within(already.next(), "the end"), { done: true, value: undefined });
  await already.ready;
});

testBoth("what cannot be is refused, and says why", async (bus, server) => {
  await assert.rejects(bus.publish("a..b", ""), TopicError);
  assert.throws(() => bus.subscribe(["a", "b..c"]), FilterError);
  await assert.rejects(
    bus.publish("a", new Uint8Array(1024 * 1024)),
    (error) => error instanceof BusError && /1048576 bytes: .* takes at most 1048576/.test(error.message),
  );
  await bus.publish("a", new Uint8Array(1024 * 1024 - 100));
  const nobody = new NatsBus(`nats://me:hunter2@127.0.0.1:1/x`);
  for (const wanted of [nobody.publish("a", ""), nobody.subscribe(">").ready, nobody.subscribe(">").next()]) {
    await assert.rejects(
      wanted,
      (error) =>
        error instanceof BusError && error.message === "cannot connect to nats://127.0.0.1:1/x: connection refused",
    );
  }
  await using stranger = new NatsBus(server.url("other"));
  await stranger.publish("a", "not for us");
});

// Without a stream.

testOne("without a stream there is no past, and who asks for it is told what to do", {}, async (bus) => {
  for (const from of ["start", { after: "1" }, { last: 1 }] as const) {
    assert.throws(
      () => bus.subscribe(">", { from }),
      (error) => error instanceof BusError && /--stream/.test(error.message),
    );
  }
  const now = bus.subscribe(">", { window: 1000 });
  assert.equal(await now.ready, undefined);
});

testOne("a reader that is too slow gets what found room, then is told; others are not held up", {
  maxQueueBytes: 100_000,
}, async (bus) => {
  const slow = bus.subscribe(">");
  const fast = bus.subscribe(">");
  await Promise.all([slow.ready, fast.ready]);
  for (let i = 0; i < 200; i++) {
    await bus.publish("a", new Uint8Array(1000));
    await take(fast, 1);
  }
  const events: BusEvent[] = [];
  await assert.rejects(async () => {
    for await (const event of slow) events.push(event);
  }, (error) => error instanceof SlowConsumerError && error.message.includes(events.at(-1)?.id ?? "?"));
  assert.equal(events.length, Math.floor(100_000 / 1256));
});

// With a stream.

testOne(
  "the past comes first, in order, then what follows; from now, only that; after an id, what comes after it",
  STREAM,
  async (bus, server) => {
    const ids: string[] = [];
    for (const payload of ["1", "2", "3"]) ids.push((await bus.publish("n", payload)).id);
    await using other = new NatsBus(server.url(), STREAM);
    for (const reader of [bus, other]) {
      const [start, now, after] = [
        reader.subscribe(">", { from: "start" }),
        reader.subscribe(">"),
        reader.subscribe(["n", "n.*"], { from: { after: ids[1] } }),
      ];
      const positions = await Promise.all([start.ready, now.ready, after.ready]);
      assert.deepEqual(positions.map((position) => position?.after?.id), [undefined, undefined, ids[1]]);
      assert.deepEqual([positions[0], positions[1]], [{ after: undefined, seen: [] }, undefined]);
      const { id } = await bus.publish("n", "4");
      assert.deepEqual((await textsOf(start, 4)).slice(0, 3), ["1", "2", "3"]);
      assert.deepEqual((await take(now, 1)).map((event) => event.id), [id]);
      assert.equal((await textsOf(after, 1))[0], "3");
      for (const subscription of [start, now, after]) await subscription.return();
    }
  },
);

testOne("from now, with a window: where the subscription begins", STREAM, async (bus) => {
  const first = bus.subscribe(">", { window: 0 });
  assert.deepEqual(await first.ready, { after: undefined, seen: [] });
  await first.return();
  const { id, time } = await bus.publish("n", "1");
  const second = bus.subscribe("n", { window: 5000 });
  assert.deepEqual(await second.ready, { after: { id, time }, seen: [] });
});

testOne("the last so many of those that match, however far back they lie", STREAM, async (bus) => {
  const all: string[] = [];
  for (let i = 0; i < 3000; i++) {
    const topic = i % 1000 === 7 ? "rare:1" : i % 3 === 0 ? "rare.not:1" : "often";
    all.push(topic);
    if (i % 100 === 99) await Promise.all(all.slice(-100).map((topic, at) => bus.publish(topic, `${i - 99 + at}`)));
  }
  for (
    const [filter, last, expected] of [
      ["rare:*", 2, ["1007", "2007"]],
      ["rare:*", 3, ["7", "1007", "2007"]],
      ["rare:*", 100, ["7", "1007", "2007"]],
      ["rare:1", 1, ["2007"]],
      [">", 2, ["2998", "2999"]],
      ["often", 1, ["2999"]],
      ["none", 5, []],
      [">", 0, []],
    ] as const
  ) {
    const events = bus.subscribe(filter, { from: { last } });
    await events.ready;
    assert.deepEqual(await textsOf(events, expected.length), expected, `the last ${last} of ${filter}`);
    await events.return();
  }
  const events = bus.subscribe("rare:*", { from: { last: 1 } });
  await events.ready;
  await bus.publish("rare:2", "new");
  assert.deepEqual(await textsOf(events, 2), ["2007", "new"]);
  const none = bus.subscribe("none", { from: { last: 5 } });
  await none.ready;
  await bus.publish("none", "new");
  assert.deepEqual(await textsOf(none, 1), ["new"]);
});

testOne(
  "who comes back has had all that comes before the last it has had, whatever the clocks of publishers say",
  STREAM,
  async (bus, server) => {
    // Then there is a stream.
    await bus.subscribe(">").ready;
    const nats = await server.connect();
    const times = ["10", "05", "30", "20", "40"];
    for (const second of times) {
      const marked = headers();
      marked.set("Nats-Msg-Id", `2026-05-08T12:34:${second}.000000000Z-another`);
      nats.publish("ollie.n", second, { headers: marked });
    }
    await nats.flush();
    await nats.close();
    const events = await take(bus.subscribe(">", { from: "start" }), times.length);
    assert.deepEqual(events.map(({ time }) => time.slice(17, 19)), times);
    const back = async (from: Position) => {
      await using subscription = bus.subscribe(">", { from });
      await subscription.ready;
      return await textsOf(subscription, 1);
    };
    const [first, second, third, fourth] = events;
    assert.deepEqual(await back({ after: first, seen: [second] }), ["30"]);
    assert.deepEqual(await back({ after: third, seen: [fourth] }), ["40"]);
    assert.deepEqual(await back({ after: undefined, seen: [second, first] }), ["30"]);
    assert.deepEqual(await back({ after: first, seen: [], gone: third }), ["20"]);
  },
);

testOne("an event that is not of this stream, and what is no id, is not silently begun after", STREAM, async (bus) => {
  assert.throws(() => bus.subscribe(">", { from: { after: "x" } }), /"x" is not the id of an event in a stream/);
  const { id } = await bus.publish("a", "1");
  for (const after of ["7-abc", id.replace(/^\d+/, "4000")]) {
    const events = bus.subscribe(">", { from: { after } });
    await events.ready;
    await assert.rejects(
      events.next(),
      (error: Error) => error.message.includes(`the event "${after}" is not in the stream`),
    );
    await bus.publish("a", "next");
    // It goes on: from the start, where nothing is known of the stream that the id is of.
    assert.equal((await textsOf(events, 1))[0], after === "7-abc" ? "1" : "next");
    await events.return();
  }
});

Deno.test({
  name: "a stream must be there, and be for this bus",
  ignore,
  fn: async () => {
    await using server = await NatsServer.start({ jetStream: true });
    await using plain = await NatsServer.start();
    const refusals: readonly (readonly [string, NatsOptions, RegExp])[] = [
      [
        server.url(),
        { stream: "NONE" },
        /the stream "NONE" at \S+ does not exist: it can be made, with --create-stream/,
      ],
      [plain.url(), { stream: "X", createStream: true }, /the server has no JetStream/],
      [
        server.url("other"),
        { stream: "EVENTS" },
        /does not keep this bus: it is for ollie\.> and should|is for ollie\.>, and should/,
      ],
      [server.url(), { stream: "a.b", createStream: true }, /cannot use the stream "a\.b"/],
      [
        server.url("ollie.deeper"),
        { stream: "DEEPER", createStream: true },
        /cannot use the stream "DEEPER" .*overlap/,
      ],
    ];
    await using bus = new NatsBus(server.url(), STREAM);
    await bus.publish("a", "");
    for (const [url, options, reason] of refusals) {
      await using refused = new NatsBus(url, options);
      await assert.rejects(
        refused.publish("a", ""),
        (error) => error instanceof BusError && reason.test(error.message),
      );
    }
    // A stream for more than the bus is as good.
    await using deeper = new NatsBus(server.url("ollie.deeper"), { stream: "EVENTS" });
    const events = deeper.subscribe(">", { from: "start" });
    await deeper.publish("b", "deep");
    assert.deepEqual((await take(events, 1)).map(({ topic }) => topic), ["b"]);
  },
});

// Others.

testBoth(
  "others speak NATS: what they publish is heard, and they hear what is published",
  async (bus, server, options) => {
    const nats = await server.connect();
    const events = bus.subscribe(">");
    await events.ready;
    const marked = headers();
    marked.set("Nats-Msg-Id", "their own");
    nats.publish("ollie.color", "red");
    nats.publish("ollie.color.50%", "blue", { headers: marked });
    nats.publish("elsewhere.color", "green");
    nats.publish("ollie.message.sent:5", "hi");
    const came = await take(events, 3);
    assert.deepEqual(came.map(({ topic }) => topic), ["color", "color.50%", "message.sent:5"]);
    assert.deepEqual(payloadsOf(came), ["red", "blue", "hi"]);
    assert.equal(new Set(came.map(({ id }) => id)).size, 3);
    for (const { time } of came) assert(Math.abs(Date.parse(time) - Date.now()) < 60_000, time);

    const heard = nats.subscribe("ollie.>", { max: 1 });
    await nats.flush();
    const { time } = await bus.publish("number", "one");
    for await (const message of heard) {
      assert.deepEqual([message.subject, message.string()], ["ollie.number", "one"]);
      assert(message.headers?.get("Nats-Msg-Id").startsWith(time));
    }
    if (options.stream !== undefined) {
      const manager = await jetstreamManager(nats);
      const { config } = await manager.streams.info("EVENTS");
      assert.deepEqual([config.subjects, config.storage, config.retention], [["ollie.>"], "file", "limits"]);
    }
    await nats.close();
  },
);

testOne(
  "many subscriptions cost the server few consumers, and none that have caught up or ended",
  STREAM,
  async (bus, server) => {
    const nats = await server.connect();
    const manager = await jetstreamManager(nats);
    const consumers = async () => (await manager.streams.info("EVENTS")).state.consumer_count;
    for (let i = 0; i < 100; i++) await bus.publish(`n.${i}`, "");
    const all = bus.subscribe(">");
    await all.ready;
    const past = Array.from({ length: 300 }, (_, i) => bus.subscribe(`n.${i % 100}`, { from: "start" }));
    assert.deepEqual(
      (await Promise.all(past.map((events) => take(events, 1)))).map(([{ topic }]) => topic).slice(0, 2),
      ["n.0", "n.1"],
    );
    await bus.publish("n.0", "new");
    await textsOf(past[0], 1);
    await textsOf(all, 1);
    const others = Array.from({ length: 100 }, (_, i) => bus.subscribe(`x.${i}`));
    await Promise.all(others.map(({ ready }) => ready));
    assert.equal(await consumers(), 1);
    for (const subscription of [...past, ...others, all]) await subscription.return();
    const narrow = Array.from({ length: 100 }, (_, i) => bus.subscribe(`x.${i}`));
    await Promise.all(narrow.map(({ ready }) => ready));
    assert((await consumers()) <= 17, `${await consumers()} consumers`);
    await nats.close();
  },
);

Deno.test({
  name: "of many who are to make a stream at once, all have it",
  ignore,
  fn: async () => {
    await using server = await NatsServer.start({ jetStream: true });
    await Promise.all(Array.from({ length: 20 }, async (_, i) => {
      await using bus = new NatsBus(server.url(), STREAM);
      await bus.publish("n", `${i}`);
    }));
    await using bus = new NatsBus(server.url(), { stream: "EVENTS" });
    await using events = bus.subscribe("n", { from: "start" });
    assert.deepEqual((await textsOf(events, 20)).sort(), Array.from({ length: 20 }, (_, i) => `${i}`).sort());
  },
});
