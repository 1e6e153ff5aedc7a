/** Clients that read slowly, or not at all: they are ended, the others notice nothing, and their memory is free at once. */
import assert from "node:assert/strict";
import { DirectoryBus } from "../../mod.ts";
import { temporaryDirectory } from "../temporary.ts";
import { HubProcess } from "./hub_process.ts";
import { LEFT_BYTES, underLoad } from "./load.ts";
import { RawWebSocket } from "./raw_websocket.ts";

Deno.test("who does not read is ended, who does has everything in order, and the memory comes back", async () => {
  const clients = 20;
  const result = await underLoad({ clients, eventBytes: 10_000, events: 400, args: ["--max-buffer", "256K"] });
  assert.deepEqual(result.read, Array(clients).fill(result.events));
  assert.equal(result.slowConsumers, clients);
  assert(result.gone - result.before < LEFT_BYTES, `${result.gone - result.before} bytes more than before`);
});

Deno.test("who reads slowly is ended with 1013 and has what came before it in order; and the hub says so", async () => {
  await using hub = await HubProcess.start("--max-buffer", "64K");
  using slow = await RawWebSocket.connect(hub.port);
  await slow.subscribe("n");
  using publisher = await RawWebSocket.connect(hub.port);
  const payload = (i: number) => `${i} ${"x".repeat(10_000)}`;
  let published = 0;
  while (await hub.metric("slow_consumers_total") === 0) {
    for (let i = 0; i < 50; i++) await publisher.say({ type: "n", payload: payload(published++) });
  }
  assert.match(
    await hub.running.stderr.next() ?? "",
    /^ollie hub: connection 1 reads too slowly and was ended: \d+ bytes waited for it$/,
  );
  assert.deepEqual(
    [await hub.metric("connections"), await hub.metric("subscriptions"), await hub.metric("queued_bytes")],
    [1, 0, 0],
  );
  let had = 0;
  for (let frame; (frame = await slow.frame()) !== undefined;) {
    if (frame.opcode === 8) {
      assert.equal(frame.payload[0] << 8 | frame.payload[1], 1013);
      assert.match(new TextDecoder().decode(frame.payload.subarray(2)), /^events came faster than they were read$/);
      break;
    }
    assert.equal(JSON.parse(new TextDecoder().decode(frame.payload)).payload, payload(had++));
  }
  assert(had > 0 && had < published, `${had} of ${published}`);
  await hub.untilMetric("sockets", 1);
});

Deno.test("a burst of several times what may wait is no reason to end who reads", async (t) => {
  const bursts: readonly (readonly [count: number, bytes: number])[] = [[60_000, 10], [3000, 1000], [300, 10_000]];
  for (const [count, bytes] of bursts) {
    await t.step(`${count} events of ${bytes} bytes`, async () => {
      await using hub = await HubProcess.start();
      using reader = await RawWebSocket.connect(hub.port);
      await reader.subscribe("n");
      using publisher = await RawWebSocket.connect(hub.port);
      const publishing = (async () => {
        for (let from = 0; from < count; from += 100) {
          await publisher.say(
            ...Array.from({ length: 100 }, (_, i) => ({ type: "n", payload: `${from + i} `.padEnd(bytes, "x") })),
          );
        }
      })();
      for (let next = 0; next < count; next++) {
        const text = await reader.text();
        assert(text.startsWith(`{"type":"n","id":"","payload":"${next} `), text.slice(0, 100));
      }
      await publishing;
      assert.equal(await hub.metric("slow_consumers_total"), 0);
    });
  }
});

Deno.test("events that a listing finds all at once are no reason to end who reads", async () => {
  using directory = temporaryDirectory();
  const [bus, aside] = [`${directory.path}/bus`, `${directory.path}/aside`];
  await using hub = await HubProcess.start(bus);
  using peer = await RawWebSocket.connect(hub.port);
  await peer.subscribe(">");
  Deno.mkdirSync(aside);
  const count = 20_000;
  for (let i = 0; i < count; i++) {
    const time = `2026-05-08T12:34:56,${String(i).padStart(9, "0")}+00:00`;
    Deno.writeTextFileSync(`${aside}/${time}_n`, String(i));
  }
  Deno.renameSync(`${bus}/events`, `${directory.path}/before`);
  Deno.renameSync(aside, `${bus}/events`);
  for (let i = 0; i < count; i++) assert.equal((await peer.hear()).payload, i);
  assert.equal(await hub.metric("slow_consumers_total"), 0);
});

Deno.test("many who publish what is large at once cost nobody else a connection", async () => {
  await using hub = await HubProcess.start();
  using bystander = await RawWebSocket.connect(hub.port);
  await bystander.subscribe("color");
  using publishers = new DisposableStack();
  const peers = [];
  for (let i = 0; i < 40; i++) peers.push(publishers.use(await RawWebSocket.connect(hub.port)));
  const event = { type: "n", payload: "x".repeat(1_000_000) };
  await Promise.all(peers.map(async (peer) => {
    await peer.say(event, event, event);
    await peer.settled();
  }));
  using publisher = await RawWebSocket.connect(hub.port);
  await publisher.say({ type: "color", payload: "red" });
  assert.equal((await bystander.hear()).payload, "red");
  assert.equal(await hub.metric("events_published_total"), 121);
});

Deno.test("a past that nobody reads waits on the disk, and not in memory", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  const bytes = 500_000;
  const count = 200;
  for (let i = 0; i < count; i++) await bus.publish("n", `${i} `.padEnd(bytes, "x"));
  await using hub = await HubProcess.start(directory.path);
  const before = hub.memory;
  using peers = new DisposableStack();
  for (let i = 0; i < 10; i++) {
    const peer = peers.use(await RawWebSocket.connect(hub.port));
    await peer.say({ type: "__subscribe", payload: { topic: "n", replay: "all" } });
  }
  using reader = await RawWebSocket.connect(hub.port);
  await reader.say({ type: "__subscribe", payload: { topic: "n", replay: "all" } });
  for (let i = 0; i < count; i++) assert((await reader.hear()).payload.startsWith(`${i} `));
  assert.equal((await reader.hear()).type, "__subscribed");
  // 100 MB were to be had by each of them.
  assert(await hub.metric("queued_bytes") < 11 * (64 * 1024 + bytes + 100));
  assert.deepEqual([await hub.metric("slow_consumers_total"), await hub.metric("connections")], [0, 11]);
  assert(hub.memory - before < 300_000_000, `${hub.memory - before} bytes more than before`);
});
