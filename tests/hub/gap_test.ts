/** What clients of a hub are told of events that have been removed from its directory. */
import assert from "node:assert/strict";
import { markOf } from "../../lib/bus/directory/order.ts";
import { prune } from "../../lib/bus/directory/prune.ts";
import { PulledSubscription } from "../../lib/bus/subscription.ts";
import { Hub } from "../../lib/hub/hub.ts";
import { type Bus, type BusEvent, DirectoryBus, GapError, HubBus, Spoke, type SubscribeOptions } from "../../mod.ts";
import { make, nameAt } from "../bus/directory/bus_files.ts";
import { textsOf } from "../bus/reading.ts";
import { until, within } from "../deadline.ts";
import { event } from "../ninep/scripted.ts";
import { temporaryDirectory } from "../temporary.ts";
import { EventStream } from "./event_stream.ts";
import { HubProcess } from "./hub_process.ts";
import { type Heard, RawWebSocket } from "./raw_websocket.ts";
import { RestartedHub } from "./running_hub.ts";
import { ScriptedHub } from "./scripted_hub.ts";

const names = Array.from({ length: 6 }, (_, i) => nameAt(i));
const last = markOf(names[3]);

/** A directory of which the first four events have been removed. */
async function pruned(path: string): Promise<void> {
  make(path, names, "x");
  await prune(path, { keep: 2 });
}

Deno.test("whoever resumes after an event is told what has gone since, before what follows", async () => {
  using directory = temporaryDirectory();
  await pruned(directory.path);
  await using hub = await HubProcess.start(directory.path);
  for (const after of [names[1], null]) {
    using peer = await RawWebSocket.connect(hub.port);
    await peer.say({ type: "__subscribe", payload: { topic: "n", after }, ref: 7 });
    const { type, id, payload: { reason, ...payload } } = await peer.hear();
    assert.deepEqual({ type, id, ...payload }, {
      type: "__gap",
      id: "",
      after,
      at: last.id,
      time: last.time,
      topic: "n",
      ref: 7,
    });
    assert.match(reason, /up to ".*" were removed before they were read$/);
    assert.deepEqual((await peer.take(3)).map(({ type }) => type), ["n", "n", "__subscribed"]);
  }
  for (const asked of [{ after: names[3] }, { replay: "all" }, { topic: "other", after: names[1] }]) {
    using peer = await RawWebSocket.connect(hub.port);
    await peer.say({ type: "__subscribe", payload: { topic: "n", ...asked } });
    assert.notEqual((await peer.hear()).type, "__gap", JSON.stringify(asked));
  }
});

Deno.test("a stream of Server-Sent Events says so in an event of its own, whose id is the place after the gap", async () => {
  using directory = temporaryDirectory();
  await pruned(directory.path);
  await using hub = await HubProcess.start(directory.path);
  for (const [id, after] of [[names[1], names[1]], ["__start", null]] as const) {
    await using stream = await EventStream.open(`${hub.url}/sub/n`, { "last-event-id": id });
    const { event, data, id: place } = await stream.event();
    const { reason, ...gap } = JSON.parse(data);
    assert.deepEqual({ event, place, ...gap }, { event: "__gap", place: last.id, after, at: last.id, time: last.time });
    assert.equal(typeof reason, "string");
    assert.equal((await stream.event()).id, names[4]);
  }
  await using again = await EventStream.open(`${hub.url}/sub/n`, { "last-event-id": last.id });
  assert.equal((await again.event()).id, names[4]);
});

Deno.test("a bus at a hub tells of a gap as its directory does, and of none that is known", async () => {
  using directory = temporaryDirectory();
  await pruned(directory.path);
  await using hub = await HubProcess.start(directory.path);
  const url = `ws://127.0.0.1:${hub.port}/`;
  await using bus = new HubBus(url);
  const cases: [from: SubscribeOptions["from"], after: string | undefined | null][] = [
    [{ after: names[1] }, names[1]],
    [{ after: undefined, seen: [] }, undefined],
    [{ after: names[3] }, null],
    ["start", null],
    [{ after: undefined, seen: names.slice(0, 4).map(markOf) }, null],
    [{ after: markOf(names[1]), seen: [], gone: last }, null],
  ];
  for (const [from, after] of cases) {
    await using events = bus.subscribe("n", { from });
    if (after !== null) {
      await assert.rejects(
        within(events.next(), "the gap"),
        (error) =>
          error instanceof GapError && error.after === after && error.until.id === last.id &&
          error.until.time === last.time,
        JSON.stringify(from),
      );
    }
    assert.deepEqual(await textsOf(events, 2), ["x", "x"], JSON.stringify(from));
  }
});

Deno.test("a spoke that was away while events were removed says that some have been missed, once", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/bus`;
  await using hub = await RestartedHub.start(path);
  await using bus = new DirectoryBus(path);
  await using spoke = new Spoke(hub.url);
  const told: unknown[] = [];
  const came = (count: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => told.length >= count && resolve();
    spoke.addEventListener("n", look);
    look();
    return within(promise, `${count} things`);
  };
  spoke.addEventListener("__missed", ({ detail }) => told.push(detail.reason));
  spoke.addEventListener("n", ({ detail }) => told.push(detail));
  await spoke.ready;
  await bus.publish("n", "1");
  await came(1);
  await hub.kill();
  const ids: string[] = [];
  for (const payload of ["2", "3", "4"]) ids.push((await bus.publish("n", payload)).id);
  await prune(path, { keep: 1 });
  await hub.restart();
  await came(3);
  assert.deepEqual([told[0], told[2]], [1, 4]);
  assert(String(told[1]).includes(`up to ${JSON.stringify(ids[1])} were removed`), String(told[1]));
  // What has gone now it has had, and of the rest it has been told.
  await hub.kill();
  await bus.publish("n", "5");
  await prune(path, { keep: 1 });
  await hub.restart();
  await came(4);
  assert.deepEqual(told.slice(3), [5]);
});

/** A subscription that gives what a test puts into it. */
class Given extends PulledSubscription {
  readonly #given: (BusEvent | Error)[] = [];

  constructor() {
    super(undefined);
    this.begun();
  }

  give(...given: (BusEvent | Error)[]): void {
    this.#given.push(...given);
    this.wake();
  }

  protected take(): BusEvent | undefined {
    const next = this.#given.shift();
    if (next instanceof Error) throw next;
    return next;
  }

  protected release(): void {}
}

Deno.test("where the hub itself comes too late for an event, all who are subscribed are told, in its place", async () => {
  const given = new Given();
  const bus: Bus = {
    publish: () => Promise.reject(new Error("nobody publishes")),
    subscribe: () => given,
    identity: () => Promise.reject(new Error("nobody asks")),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const log: string[] = [];
  const hub = new Hub(bus, { log: (message) => log.push(message) });
  await hub.ready;
  const { port1, port2 } = new MessageChannel();
  const other = new MessageChannel();
  hub.addConnection(port1);
  hub.addConnection(other.port1);
  other.port2.onmessage = () => assert.fail("who is not subscribed was told");
  const heard: Heard[] = [];
  const whole = new Promise<void>((resolve) => {
    port2.onmessage = ({ data }) => heard.push(JSON.parse(data)) === 4 && resolve();
  });
  port2.postMessage('{"type":"__subscribe","payload":{"topic":"n"}}');
  port2.postMessage('{"type":"__ping","payload":1}');
  await until("the subscription", () => heard.length === 1);
  const gap = new GapError("bus", { after: names[0], until: markOf(names[1]) });
  given.give(event(names[0], "1"), gap, event(names[2], "3"));
  await within(whole, "all of it");
  assert.deepEqual(heard.map(({ type }) => type), ["__pong", "n", "__gap", "n"]);
  assert.deepEqual(heard[2].payload, {
    reason: gap.message,
    after: names[0],
    at: names[1],
    time: markOf(names[1]).time,
  });
  assert.deepEqual(log, [gap.message]);
  await hub.close();
  for (const port of [port2, other.port2]) port.close();
});

Deno.test("a client believes a hub that tells of a gap, and no nonsense", async () => {
  await using hub = new ScriptedHub();
  await using bus = new HubBus(hub.url);
  await using events = bus.subscribe("n", { from: { after: "0" } });
  const peer = await hub.next();
  await peer.accept("0");
  for (const payload of [null, {}, { at: 5 }, { at: null }, "x"]) peer.send({ type: "__gap", payload });
  peer.send({ type: "__gap", payload: { at: "1", time: "2026" } });
  await assert.rejects(
    within(events.next(), "the gap"),
    (error) => error instanceof GapError && error.until.id === "1",
  );
  peer.events(2);
  assert.deepEqual(await textsOf(events, 1), ["2"]);
});
