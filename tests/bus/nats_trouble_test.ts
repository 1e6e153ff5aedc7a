/** A NATS bus in trouble: servers that are killed and come back, streams that lose what they held, readers that do not read. */
import assert from "node:assert/strict";
import { BusError, type BusEvent, GapError, type Subscription } from "../../mod.ts";
import { NatsBus } from "../../lib/bus/nats.ts";
import { within } from "../deadline.ts";
import { ignore, NatsServer } from "../nats_server.ts";
import { take, textsOf } from "./reading.ts";

const STREAM = { stream: "EVENTS", createStream: true } as const;

function testOnNats(name: string, run: (server: NatsServer) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    fn: async () => {
      await using server = await NatsServer.start({ jetStream: true });
      await run(server);
    },
  });
}

/** What a subscription gives until it gives a certain payload: payloads, and errors that it goes on after. */
async function readUntil(last: string, subscription: Subscription): Promise<(string | Error)[]> {
  const got: (string | Error)[] = [];
  while (got.at(-1) !== last) {
    try {
      got.push(...await textsOf(subscription, 1) as string[]);
    } catch (error) {
      if (!(error instanceof GapError)) throw error;
      got.push(error);
    }
  }
  return got;
}

testOnNats(
  "the server is killed and started again under load: each of 20,000 events comes once, also to who comes and goes",
  async (server) => {
    await using publisher = new NatsBus(server.url(), STREAM);
    const count = 20_000;
    await publisher.publish("n", "first");
    await using steady = new NatsBus(server.url(), STREAM);
    const live = steady.subscribe("n", { from: "start" });

    const reached = new Map<number, () => void>();
    let received = 0;
    function progress(share: number): Promise<void> {
      return received >= share * count
        ? Promise.resolve()
        : new Promise((resolve) => reached.set(share * count, resolve));
    }
    const publishing = (async () => {
      const waiting = new Set<Promise<unknown>>();
      for (let i = 0; i < count; i++) {
        const published: Promise<unknown> = publisher.publish("n", `${i}`).then(() => waiting.delete(published));
        waiting.add(published);
        if (waiting.size >= 200) await Promise.race(waiting);
      }
      await Promise.all(waiting);
    })();
    const killing = (async () => {
      for (const share of [0.1, 0.3, 0.6]) {
        await progress(share);
        await server.kill();
        await server.restart();
      }
    })();
    /** Reads some, goes away, and comes back with another connection, after the last that it has had. */
    const comingAndGoing = (async () => {
      const got: BusEvent[] = [];
      while (got.length <= count) {
        await using bus = new NatsBus(server.url(), { stream: "EVENTS" });
        const after = got.at(-1)?.id;
        try {
          await using events = bus.subscribe(">", { from: after === undefined ? "start" : { after } });
          got.push(...await take(events, Math.min(3000, count + 1 - got.length)));
        } catch (error) {
          // It came while there was no server.
          if (!(error instanceof BusError) || !/cannot connect|cannot use/.test(error.message)) throw error;
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      }
      return got;
    })();

    const expected = ["first", ...Array.from({ length: count }, (_, i) => `${i}`)];
    const got: BusEvent[] = [];
    while (got.length <= count) {
      got.push(...await take(live, 1));
      received++;
      reached.get(received)?.();
    }
    await within(Promise.all([publishing, killing]), "the end of publishing");
    const text = new TextDecoder();
    // What was under way at once may have been stored in another order by the server that came back.
    const sorted = (events: readonly BusEvent[]) => events.map(({ payload }) => text.decode(payload)).sort();
    assert.deepEqual(sorted(got), [...expected].sort());
    assert.deepEqual((await comingAndGoing).map(({ id }) => id), got.map(({ id }) => id));
  },
);

testOnNats(
  "without a stream, what is published while the server is away arrives, and who may have missed something is told",
  async (server) => {
    await using bus = new NatsBus(server.url());
    await using other = new NatsBus(server.url());
    const events = bus.subscribe(">");
    await events.ready;
    await other.publish("a", "1");
    assert.deepEqual(await textsOf(events, 1), ["1"]);
    await server.kill();
    const next = events.next();
    const published = Promise.all(["2", "3"].map((payload) => bus.publish("a", payload)));
    await server.restart();
    await assert.rejects(
      within(next, "word of the gap"),
      (error) => error instanceof GapError && /was away/.test(error.message),
    );
    await within(published, "the end of publishing");
    assert.deepEqual((await textsOf(events, 2)).sort(), ["2", "3"]);
  },
);

testOnNats(
  "with a stream, who waits meanwhile gets what others have published, and no more than once",
  async (server) => {
    await using bus = new NatsBus(server.url(), STREAM);
    await using other = new NatsBus(server.url(), STREAM);
    const subscriptions = [bus.subscribe(">"), bus.subscribe("a.*"), other.subscribe(["a.1", "b"])];
    await Promise.all(subscriptions.map(({ ready }) => ready));
    for (let round = 0; round < 3; round++) {
      await server.kill();
      const published = other.publish("a.1", `${round}`);
      await server.restart();
      await within(published, "the end of publishing");
      for (const subscription of subscriptions) assert.deepEqual(await textsOf(subscription, 1), [`${round}`]);
    }
  },
);

testOnNats("what waits for a server that is away is bounded", async (server) => {
  const bus = new NatsBus(server.url(), { ...STREAM, maxQueueBytes: 10_000 });
  await bus.publish("a", "");
  await server.kill();
  const waiting: Promise<unknown>[] = [];
  for (let i = 0; i < 7; i++) waiting.push(bus.publish("a", new Uint8Array(1000)));
  await assert.rejects(
    bus.publish("a", new Uint8Array(2000)),
    /7 events \(8792 bytes\) wait for \S+ to acknowledge them, and no more find room/,
  );
  await server.restart();
  await within(Promise.all(waiting), "the end of publishing");
  await server.kill();
  const lost = bus.publish("a", "");
  const closing = bus[Symbol.asyncDispose]();
  await assert.rejects(lost, /was closed before it had acknowledged/);
  await closing;
});

testOnNats(
  "an event is not sent again once the stream may have forgotten it: its publisher is told that its fate is not known",
  async (server) => {
    await server.administer(({ streams }) =>
      streams.add({ name: "EVENTS", subjects: ["ollie.>"], duplicate_window: 500 * 1e6 })
    );
    await using bus = new NatsBus(server.url(), { stream: "EVENTS" });
    await bus.publish("a", "");
    await server.stop();
    await assert.rejects(
      within(bus.publish("a", "1"), "word of it"),
      (error) =>
        error instanceof BusError &&
        /has not acknowledged the event in 1 seconds: whether .* not known/.test(error.message),
    );
    server.goOn();
    await bus.publish("a", "2");
  },
);

testOnNats("an event that a stream refuses is refused at once", async (server) => {
  await server.administer(({ streams }) =>
    streams.add({ name: "EVENTS", subjects: ["ollie.>"], max_msgs: 1, discard: "new" as never })
  );
  await using bus = new NatsBus(server.url(), { stream: "EVENTS" });
  await bus.publish("a", "1");
  await assert.rejects(
    bus.publish("a", "2"),
    (error) => error instanceof BusError && /maximum messages/.test(error.message),
  );
});

testOnNats(
  "events that a stream has removed before they were read are told of, once, in their place",
  async (server) => {
    await server.administer(({ streams }) => streams.add({ name: "EVENTS", subjects: ["ollie.>"], max_msgs: 100 }));
    await using bus = new NatsBus(server.url(), { stream: "EVENTS" });
    const ids: string[] = [];
    for (let i = 0; i < 1000; i++) ids.push((await bus.publish("n", `${i}`)).id);
    const kept = Array.from({ length: 100 }, (_, i) => `${900 + i}`);
    // Another bus object, which has nothing in memory.
    await using reader = new NatsBus(server.url(), { stream: "EVENTS" });
    const told = await readUntil("999", reader.subscribe(">", { from: { after: ids[9] } }));
    assert.deepEqual(told.slice(1), kept);
    assert(told[0] instanceof GapError);
    assert.match(
      told[0].message,
      new RegExp(`events after "${ids[9]}" and up to "${ids[899]}" were removed before they were read`),
    );
    // Who had all that was removed, asks for all there is, or for the last of it, has missed nothing.
    assert.deepEqual(await readUntil("999", reader.subscribe("n", { from: { after: ids[899] } })), kept);
    assert.deepEqual(await readUntil("999", reader.subscribe("n", { from: "start" })), kept);
    assert.deepEqual(await readUntil("999", reader.subscribe("n", { from: { last: 500 } })), kept);
  },
);

testOnNats(
  "who reads too slowly for what a stream keeps is told; others are not held up, and memory stays bounded",
  async (server) => {
    await server.administer(({ streams }) => streams.add({ name: "EVENTS", subjects: ["ollie.>"], max_msgs: 2000 }));
    await using bus = new NatsBus(server.url(), { stream: "EVENTS" });
    const slow = bus.subscribe(">");
    const fast = bus.subscribe(">");
    await Promise.all([slow.ready, fast.ready]);
    const payload = new Uint8Array(10_000);
    const count = 10_000;
    for (let sent = 0; sent < count; sent += 100) {
      await Promise.all(Array.from({ length: 100 }, () => bus.publish("n", payload)));
      assert.equal((await take(fast, 100)).length, 100);
    }
    await bus.publish("n", "end");
    const got = await readUntil("end", slow);
    const gaps = got.filter((what) => what instanceof Error);
    assert.equal(gaps.length, 1);
    assert(got.length > 1500 && got.length < 4000, `${got.length} events`);
  },
);

testOnNats("a slow reader loses nothing that the stream keeps", async (server) => {
  await using bus = new NatsBus(server.url(), STREAM);
  const slow = [bus.subscribe(">"), bus.subscribe("n.*", { from: "start" })];
  await Promise.all(slow.map(({ ready }) => ready));
  const count = 6000;
  for (let sent = 0; sent < count; sent += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, i) => bus.publish(`n.${i % 2}`, `${sent + i}`.padEnd(5000))));
  }
  for (const subscription of slow) {
    const got = (await textsOf(subscription, count)).map(Number);
    assert.deepEqual(got, Array.from({ length: count }, (_, i) => i));
  }
});

testOnNats("events as long as the server takes come through, also from the past", async (server) => {
  await using bus = new NatsBus(server.url(), STREAM);
  const payload = new Uint8Array(1024 * 1024 - 100);
  for (let i = 0; i < 20; i++) {
    payload.fill(i);
    await bus.publish("n", payload);
  }
  await using reader = new NatsBus(server.url(), STREAM);
  const events = reader.subscribe(">", { from: "start" });
  for (let i = 0; i < 20; i++) {
    const [event] = await take(events, 1);
    assert.deepEqual([event.payload.length, event.payload[0], event.payload.at(-1)], [payload.length, i, i]);
  }
});

testOnNats("a stream that is removed, or made anew, ends its subscriptions with an error", async (server) => {
  await using bus = new NatsBus(server.url(), STREAM);
  const { id } = await bus.publish("n", "1");
  const events = bus.subscribe(">");
  await events.ready;
  await server.administer(async ({ streams }) => {
    await streams.delete("EVENTS");
    await streams.add({ name: "EVENTS", subjects: ["ollie.>"] });
  });
  await assert.rejects(
    within(events.next(), "the end"),
    (error) => error instanceof BusError && /has been removed|made anew/.test(error.message),
  );
  const published = await bus.publish("n", "2");
  assert.notEqual(published.id, id);
  const again = bus.subscribe(">", { from: { after: id } });
  await assert.rejects(
    again.next(),
    (error) => error instanceof GapError && /made anew/.test(error.message),
  );
  const [event] = await take(again, 1);
  assert.deepEqual([event.id, event.time], [published.id, published.time]);
});
