/** Links within one process: which events are brought where. */
import assert from "node:assert/strict";
import { MAX_HOPS, newIdentity } from "../lib/identity.ts";
import { link } from "../lib/link.ts";
import { type Bus, BusError, type BusEvent, MemoryBus } from "../mod.ts";
import { take } from "./bus/reading.ts";
import { until, within } from "./deadline.ts";

/** Links two buses until the end of the block. */
async function linked(from: Bus, to: Bus): Promise<AsyncDisposable & { readonly log: readonly string[] }> {
  const stop = new AbortController();
  const log: string[] = [];
  const begun = Promise.withResolvers<void>();
  const ended = link({ bus: from, name: "from" }, { bus: to, name: "to" }, {
    filters: [">"],
    progress: undefined,
    signal: stop.signal,
    begun: begun.resolve,
    log: (message) => log.push(message),
  });
  await Promise.race([begun.promise, ended]);
  return {
    log,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await within(ended, "the end of the link");
    },
  };
}

Deno.test("an event goes along a chain, back along it, and no further", async () => {
  const buses = [new MemoryBus(), new MemoryBus(), new MemoryBus()];
  const [a, b, c] = buses;
  const identities = await Promise.all(buses.map((bus) => bus.identity()));
  await using links = new AsyncDisposableStack();
  for (const [from, to] of [[a, b], [b, a], [b, c], [c, b]]) links.use(await linked(from, to));
  const subscriptions = buses.map((bus) => bus.subscribe(">"));
  await b.publish("n", "b");
  await a.publish("n", "a");
  await c.publish("n", "c");
  const ways: Record<string, readonly (readonly number[])[]> = {
    a: [[], [0], [0, 1]],
    b: [[1], [], [1]],
    c: [[2, 1], [2], []],
  };
  for (const [at, subscription] of subscriptions.entries()) {
    for (const event of await take(subscription, 3)) {
      const payload = new TextDecoder().decode(event.payload);
      assert.deepEqual(event.via ?? [], ways[payload][at].map((bus) => identities[bus]), `${payload} on ${at}`);
    }
  }
  // Whatever would come back would have come before this has been everywhere.
  await a.publish("n", "last");
  for (const subscription of subscriptions) {
    assert.equal(new TextDecoder().decode((await take(subscription, 1))[0].payload), "last");
  }
});

Deno.test("an event that says it has been on the target, or has come back, is not copied; one that has been everywhere is told of", async () => {
  const [a, b] = [new MemoryBus(), new MemoryBus()];
  await using running = await linked(a, b);
  await using events = b.subscribe(">");
  const other = newIdentity();
  await a.publish("n", "to b", { via: [other, await b.identity()] });
  await a.publish("n", "back", { via: [await a.identity(), other] });
  await a.publish("n", "far", { via: Array.from({ length: MAX_HOPS }, newIdentity) });
  await a.publish("n", "new", { via: [other] });
  const [event] = await take(events, 1);
  assert.equal(new TextDecoder().decode(event.payload), "new");
  assert.deepEqual(event.via, [other, await a.identity()]);
  assert.deepEqual(running.log, ['the event "3" is not copied: it has been on 64 buses, which is as many as may be']);
});

Deno.test("a source that breaks is tried again, and what is lost is told", async () => {
  const [a, b] = [new MemoryBus({ maxQueueBytes: 2000 }), new MemoryBus()];
  await using running = await linked(a, b);
  await using events = b.subscribe(">");
  // So many at once that they find no room.
  for (let i = 0; i < 20; i++) a.publish("n", `${i}`);
  await until("the line", () => running.log.length === 2);
  assert.match(
    running.log[0],
    /^this subscriber read too slowly: .*; what is published until it is back is not copied$/,
  );
  assert.equal(running.log[1], "from is back");
  await a.publish("n", "last");
  const isLast = ({ payload }: BusEvent) => new TextDecoder().decode(payload) === "last";
  while (!isLast((await take(events, 1))[0]));
});

Deno.test("a bus is not linked to itself", async () => {
  const bus = new MemoryBus();
  await assert.rejects(
    linked(bus, bus),
    new BusError("from and to are the same bus: a link is from one bus to another"),
  );
});
