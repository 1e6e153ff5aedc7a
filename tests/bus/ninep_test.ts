import assert from "node:assert/strict";
import { BusError, FilterError, NinepBus, TopicError } from "../../mod.ts";
import { serve } from "../ninep/transcript.ts";
import { take, textsOf } from "./reading.ts";

Deno.test("what is published through a server is on its bus, to the byte, with the id that it got there", async () => {
  await using served = await serve("directory");
  await using bus = new NinepBus(`unix:${served.path}`);
  const payloads = [
    new Uint8Array(0),
    new TextEncoder().encode("red\n"),
    new TextEncoder().encode("a\nb\n\n"),
    new TextEncoder().encode('"5"'),
    new TextEncoder().encode(" 5 \r\n"),
    Uint8Array.from({ length: 256 }, (_, i) => i),
    new Uint8Array(3_000_000).fill(7),
  ];
  const published = [];
  for (const payload of payloads) published.push(await bus.publish("color", payload));
  await using there = served.bus.subscribe(">", { from: "start" });
  await using here = bus.subscribe(">", { from: "start" });
  const events = await take(there, payloads.length);
  assert.deepEqual(events.map(({ payload }) => payload), payloads);
  assert.deepEqual(events.map(({ id, time }) => ({ id, time })), published);
  assert.deepEqual(await take(here, payloads.length), events);
});

Deno.test("events published at once come whole, in the order in which they were published", async () => {
  await using served = await serve("mem", { maxMessageBytes: 8192 });
  await using bus = new NinepBus(`unix:${served.path}`);
  const events = bus.subscribe("n.*");
  await events.ready;
  const sent = Array.from({ length: 200 }, (_, i) => `${i} ${"x".repeat(i * 100)}`);
  await Promise.all(sent.map((payload, i) => bus.publish(`n.${i}`, payload)));
  assert.deepEqual(await textsOf(events, sent.length), sent);
});

Deno.test("a subscription begins where it is asked to", async () => {
  await using served = await serve("directory");
  await using bus = new NinepBus(`unix:${served.path}`);
  const ids = [];
  for (let i = 0; i < 5; i++) ids.push((await bus.publish("n", `${i}`)).id);
  assert.deepEqual(await textsOf(bus.subscribe("n", { from: "start" }), 5), ["0", "1", "2", "3", "4"]);
  assert.deepEqual(await textsOf(bus.subscribe("n", { from: { after: ids[2] } }), 2), ["3", "4"]);
  assert.deepEqual(await textsOf(bus.subscribe("n", { from: { last: 1 } }), 1), ["4"]);
  const now = bus.subscribe("n");
  await now.ready;
  await served.bus.publish("n", "5");
  assert.deepEqual(await textsOf(now, 1), ["5"]);
});

Deno.test("nothing that is published once a subscription is ready is missed", async () => {
  await using served = await serve("directory");
  await using bus = new NinepBus(`unix:${served.path}`);
  for (let i = 0; i < 20; i++) {
    await using events = bus.subscribe("n.*");
    await events.ready;
    await served.bus.publish(`n.${i}`, "x");
    // What was published a moment before may come, too.
    for (;;) {
      const [{ topic }] = await take(events, 1);
      if (topic === `n.${i}`) break;
    }
  }
});

Deno.test("a subscriber that does not read has little in memory, and gets every event in the end", async () => {
  await using served = await serve("directory");
  await using bus = new NinepBus(`unix:${served.path}`);
  const events = bus.subscribe("n");
  await events.ready;
  const count = 3000;
  for (let i = 0; i < count; i++) await served.bus.publish("n", `${i} ${"x".repeat(2000)}`);
  const got = await textsOf(events, count);
  assert.deepEqual(got.map((payload) => parseInt(payload ?? "")), Array.from({ length: count }, (_, i) => i));
});

Deno.test("ending a subscription gives back all that it held at the server", async () => {
  await using served = await serve();
  await using bus = new NinepBus(`unix:${served.path}`);
  const kept = bus.subscribe("kept");
  await kept.ready;
  for (let i = 0; i < 10; i++) {
    await using events = bus.subscribe("n");
    await events.ready;
  }
  await bus.publish("kept", "x");
  await textsOf(kept, 1);
  // The clunks were sent before the event was published.
  assert.equal(served.tree.counters.subscriptions, 1);
});

Deno.test("what is refused is refused in words", async () => {
  await using served = await serve();
  await using bus = new NinepBus(`unix:${served.path}`);
  await assert.rejects(bus.publish("a..b", ""), TopicError);
  assert.throws(() => bus.subscribe("a.>.b"), FilterError);
  assert.throws(() => bus.subscribe("two words"), BusError);
  assert.throws(() => bus.subscribe("replay=all"), BusError);
  const past = bus.subscribe("n", { from: "start" });
  await assert.rejects(past.ready, /unix:.*: a mem: bus keeps no events/);
  await assert.rejects(past.next(), BusError);
  // After a refusal, the connection is as good as before.
  await bus.publish("n", "x");
});

Deno.test("a server that has gone is told of, and found again when it is back", async () => {
  const first = await serve();
  await using bus = new NinepBus(`unix:${first.path}`);
  const events = bus.subscribe("n");
  await events.ready;
  await bus.publish("n", "x");
  await textsOf(events, 1);
  await first[Symbol.asyncDispose]();
  await assert.rejects(events.next(), BusError);
  await assert.rejects(bus.publish("n", "y"), BusError);
  await assert.rejects(bus.publish("n", "y"), /cannot connect/);
});
