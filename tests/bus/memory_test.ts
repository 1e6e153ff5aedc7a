import assert from "node:assert/strict";
import { BusError, FilterError, MemoryBus, SlowConsumerError, TopicError } from "../../mod.ts";
import { within } from "../deadline.ts";
import { payloadsOf, textsOf } from "./reading.ts";

Deno.test("each subscriber gets what matches, once, in order", async () => {
  await using bus = new MemoryBus();
  const all = bus.subscribe(">");
  const some = bus.subscribe(["color", "*", "c.*"]);
  const colors = bus.subscribe("color");
  assert.equal(await colors.ready, undefined);
  for (const [topic, payload] of [["color", "red"], ["number", "one"], ["color", "blue"], ["c.d", "x"]]) {
    await bus.publish(topic, payload);
  }
  assert.deepEqual(await textsOf(all, 4), ["red", "one", "blue", "x"]);
  assert.deepEqual(await textsOf(some, 4), ["red", "one", "blue", "x"]);
  assert.deepEqual(await textsOf(colors, 2), ["red", "blue"]);
});

Deno.test("an event has an id of its own, the time, its topic and its payload to the byte", async () => {
  let now = 1_777_777_777_123_456_789n;
  await using bus = new MemoryBus({ clock: () => now++ });
  const events = bus.subscribe(">");
  const payload = Uint8Array.of(0, 255, 10);
  const published = await bus.publish("a", payload);
  payload.fill(7);
  const { value } = await events.next();
  assert.deepEqual({ ...value }, {
    id: published.id,
    time: "2026-05-03T03:09:37.123456789Z",
    topic: "a",
    payload: Uint8Array.of(0, 255, 10),
  });
  assert.notEqual((await bus.publish("a", "")).id, published.id);
});

Deno.test("readers that wait are answered in the order in which they came", async () => {
  await using bus = new MemoryBus();
  const events = bus.subscribe(">");
  const reads = [events.next(), events.next(), events.next()];
  for (const payload of ["1", "2"]) await bus.publish("a", payload);
  assert.deepEqual(payloadsOf([(await reads[0]).value, (await reads[1]).value]), ["1", "2"]);
  await events.return();
  assert.deepEqual(await reads[2], { done: true, value: undefined });
});

Deno.test("leaving the loop, disposing, a signal and the end of the bus end a subscription", async () => {
  const bus = new MemoryBus();
  const stop = new AbortController();
  const [left, disposed, stopped, ended] = [{}, {}, { signal: stop.signal }, {}].map((options) =>
    bus.subscribe(">", options)
  );
  await bus.publish("a", "1");
  for await (const _ of left) break;
  await disposed[Symbol.asyncDispose]();
  stop.abort();
  await bus[Symbol.asyncDispose]();
  for (const subscription of [left, disposed, stopped, ended]) {
    assert.deepEqual(await within(subscription.next(), "the end"), { done: true, value: undefined });
  }
  const already = bus.subscribe(">", { signal: AbortSignal.abort() });
  assert.deepEqual(await within(already.next(), "the end"), { done: true, value: undefined });
});

Deno.test("a reader that is too slow gets what found room, then is told", async () => {
  await using bus = new MemoryBus({ maxQueueBytes: 2000 });
  const slow = bus.subscribe(">");
  const fast = bus.subscribe(">");
  for (let i = 0; i < 10; i++) {
    await bus.publish("a", `${i}`);
    await fast.next();
  }
  assert.deepEqual(await textsOf(slow, 7), ["0", "1", "2", "3", "4", "5", "6"]);
  await assert.rejects(
    slow.next(),
    (error) => error instanceof SlowConsumerError && /after 7 found no room/.test(error.message),
  );
  assert.equal((await slow.next()).done, true);
});

Deno.test("an event larger than the queue reaches a reader that has nothing else to read", async () => {
  await using bus = new MemoryBus({ maxQueueBytes: 1000 });
  const events = bus.subscribe(">");
  await bus.publish("a", new Uint8Array(5000));
  assert.equal((await events.next()).value?.payload.length, 5000);
});

Deno.test("what cannot be is refused", async () => {
  await using bus = new MemoryBus();
  await assert.rejects(bus.publish("a..b", ""), TopicError);
  assert.throws(() => bus.subscribe(["a", "b..c"]), FilterError);
  for (const from of ["start", { after: "1" }] as const) assert.throws(() => bus.subscribe(">", { from }), BusError);
});
