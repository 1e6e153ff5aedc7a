import assert from "node:assert/strict";
import { BusError, FilterError, NinepBus, SlowConsumerError, TopicError, UnreadableEventError } from "../../mod.ts";
import { event, ScriptedBus } from "../ninep/scripted.ts";
import { until, within } from "../deadline.ts";
import { serve } from "../ninep/transcript.ts";
import { take, textsOf } from "./reading.ts";

Deno.test("what is published through a server is on its bus, to the byte, with the id that it got there", async () => {
  await using served = serve("directory");
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
  await using served = serve("mem", { maxMessageBytes: 8192 });
  await using bus = new NinepBus(`unix:${served.path}`);
  const events = bus.subscribe("n.*");
  await events.ready;
  const sent = Array.from({ length: 200 }, (_, i) => `${i} ${"x".repeat(i * 100)}`);
  await Promise.all(sent.map((payload, i) => bus.publish(`n.${i}`, payload)));
  assert.deepEqual(await textsOf(events, sent.length), sent);
});

Deno.test("a subscription begins where it is asked to", async () => {
  await using served = serve("directory");
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
  await using served = serve("directory");
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
  await using served = serve("directory");
  await using bus = new NinepBus(`unix:${served.path}`);
  const events = bus.subscribe("n");
  await events.ready;
  const count = 3000;
  for (let i = 0; i < count; i++) await served.bus.publish("n", `${i} ${"x".repeat(2000)}`);
  const got = await textsOf(events, count);
  assert.deepEqual(got.map((payload) => parseInt(payload ?? "")), Array.from({ length: count }, (_, i) => i));
});

Deno.test("ending a subscription gives back all that it held at the server", async () => {
  await using served = serve();
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
  await using served = serve();
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
  const first = serve();
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

Deno.test("an event that the server cannot read is told of in its place, and passed by", async () => {
  const events = [event("1"), new UnreadableEventError("cannot read it"), event("3")];
  await using served = serve(new ScriptedBus([events]));
  await using bus = new NinepBus(`unix:${served.path}`);
  const subscription = bus.subscribe("n");
  assert.deepEqual(await textsOf(subscription, 1), ["1"]);
  await assert.rejects(subscription.next(), UnreadableEventError);
  assert.deepEqual(await textsOf(subscription, 1), ["3"]);
});

Deno.test("after an error, nothing that comes after the gap is delivered", async () => {
  // The server begins anew for the reads that wait, which is right for a client that reads one by one.
  const lost = Object.assign(new SlowConsumerError("too slow"), {});
  await using served = serve(new ScriptedBus([[event("1"), event("2"), lost], [event("9"), event("10")]]));
  await using bus = new NinepBus(`unix:${served.path}`);
  const subscription = bus.subscribe("n");
  assert.deepEqual(await textsOf(subscription, 2), ["1", "2"]);
  await assert.rejects(subscription.next(), /too slow/);
  assert.deepEqual(await subscription.next(), { done: true, value: undefined });
});

Deno.test("an id may hold white space and quotes, as the names of files do", async () => {
  await using served = serve("directory");
  await using bus = new NinepBus(`unix:${served.path}`);
  await served.bus.publish("first", "0");
  const directory = served.path.replace(/s$/, "bus/events");
  const odd = '2001-01-01T00:00:00,000000001+00:00_has "white" space';
  Deno.writeTextFileSync(`${directory}/${odd}`, "1");
  const [{ id }] = await take(bus.subscribe(">", { from: "start" }), 1);
  assert.equal(id, odd);
  assert.deepEqual(await textsOf(bus.subscribe(">", { from: { after: odd } }), 1), ["0"]);
});

Deno.test("a refused event leaves nothing behind: the next one gets its own id", async () => {
  let published = 0;
  const scripted = new ScriptedBus([], () => {
    published++;
    if (published % 2 === 1) return Promise.reject(new BusError("the disk is full"));
    return Promise.resolve({ id: `${published}`, time: "2026-05-08T12:34:56.123456789Z" });
  });
  await using served = serve(scripted);
  await using bus = new NinepBus(`unix:${served.path}`);
  for (let i = 2; i < 20; i += 2) {
    await assert.rejects(bus.publish("n", "x"), /the disk is full/);
    assert.equal((await bus.publish("n", "x")).id, `${i}`);
  }
});

Deno.test("a server that ends while events are published throws nothing where nobody catches it", async () => {
  for (let i = 0; i < 20; i++) {
    const served = serve();
    await using bus = new NinepBus(`unix:${served.path}`);
    const publishing = Array.from({ length: 20 }, () => bus.publish("n", "x".repeat(100_000)));
    const all = Promise.allSettled(publishing);
    await publishing[i % 5].catch(() => {});
    await served[Symbol.asyncDispose]();
    for (const outcome of await all) assert(outcome.status === "fulfilled" || outcome.reason instanceof BusError);
  }
});

Deno.test("a bus that was closed stays closed, whatever it was doing", async () => {
  await using served = serve();
  const bus = new NinepBus(`unix:${served.path}`);
  const first = bus.publish("n", "1");
  const second = bus.publish("n", "2").catch((error) => error);
  await first;
  await bus[Symbol.asyncDispose]();
  assert(await second instanceof BusError || "id" in await second);
  await assert.rejects(bus.publish("n", "3"), /was closed/);
  await until("the end of the connection", () => served.server.connections === 0);

  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const stuck = new NinepBus(`tcp:127.0.0.1:${silent.addr.port}`);
  const publishing = stuck.publish("n", "x").catch((error) => error);
  using _accepted = await silent.accept();
  await within(stuck[Symbol.asyncDispose](), "the end of a bus whose server is silent", 5000);
  assert(await publishing instanceof BusError);
});

Deno.test("a thousand subscriptions and more share a connection, and give all back", async () => {
  await using served = serve();
  await using bus = new NinepBus(`unix:${served.path}`);
  const subscriptions = Array.from({ length: 1500 }, (_, i) => bus.subscribe(`n.${i}`));
  await Promise.all(subscriptions.map(({ ready }) => ready));
  for (let i = 0; i < subscriptions.length; i++) await bus.publish(`n.${i}`, `${i}`);
  for (const [i, subscription] of subscriptions.entries()) assert.deepEqual(await textsOf(subscription, 1), [`${i}`]);
  await Promise.all(subscriptions.map((subscription) => subscription.return()));
  await bus.publish("n", "x");
  assert.equal(served.tree.counters.subscriptions, 0);
});

Deno.test("what is no bus is said to be none", async () => {
  const odd = { id: 5, time: "", topic: "n", payload: new Uint8Array(0) };
  // An id that is a number: what another kind of server might send.
  await using served = serve(new ScriptedBus([[odd as unknown as ReturnType<typeof event>]]));
  await using bus = new NinepBus(`unix:${served.path}`);
  await assert.rejects(bus.subscribe("n").next(), /sent a line without "id": it is no bus/);
});
