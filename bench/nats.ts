/**
 * NATS as a carrier: what goes through the bus, against the client library by itself, which does the same with the same messages;
 * and a hub on NATS, against the same hub on `mem:`.
 */
import { connect, headers, type NatsConnection } from "@nats-io/transport-node";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { NatsBus } from "../lib/bus/nats.ts";
import type { Bus } from "../mod.ts";
import { CLI, median, type Row, RUN, temporaryDirectory, thousands, timed } from "./measure.ts";
import { NatsServer } from "./nats_server.ts";
import { has, Server } from "./server.ts";
import { findWsload, wsload } from "./wsload.ts";

const ROUNDS = 7;
const EVENTS = 40_000;
/** How many events are published before any of them is waited for. */
const AT_ONCE = 1000;
const PAYLOAD = new Uint8Array(100).fill(120);
const STREAM = "BENCH";

/** Everything about NATS. */
export async function nats(): Promise<Row[]> {
  if (!has("nats-server")) {
    console.error("without nats-server, NATS is not measured");
    return [];
  }
  using directory = temporaryDirectory();
  await using server = await NatsServer.start(directory.path);
  return [...await againstLibrary(server.address), ...await hubs(server.address, directory.path)];
}

/** How many events a second one of two contenders does, in turn, so that both meet the machine in the same mood. */
async function compare(ours: () => Promise<number>, bare: () => Promise<number>): Promise<[number, number]> {
  const rates: [number[], number[]] = [[], []];
  for (let round = 0; round <= ROUNDS; round++) {
    const pair = [await ours(), await bare()];
    // The first round of each is for the compiler.
    if (round > 0) pair.forEach((milliseconds, which) => rates[which].push(EVENTS / milliseconds * 1000));
  }
  return [median(rates[0]), median(rates[1])];
}

async function againstLibrary(address: string): Promise<Row[]> {
  const [one, other] = [await connect({ servers: address, noAsyncTraces: true }), await connect({ servers: address })];
  const manager = await jetstreamManager(one);
  await manager.streams.add({ name: STREAM, subjects: ["kept.>"] });
  await using live = new NatsBus(`nats://${address}/live`);
  await using liveToo = new NatsBus(`nats://${address}/live`);
  await using kept = new NatsBus(`nats://${address}/kept`, { stream: STREAM });
  let marks = 0;
  const mark = () => `2026-11-30T12:34:56.${String(++marks).padStart(9, "0")}Z-0123456789abc`;

  const throughBus = async () => {
    const events = liveToo.subscribe("color.*");
    await events.ready;
    return await timed(() => Promise.all([publishAll(live), receiveAll(events)]));
  };
  const throughLibrary = async () => {
    const messages = other.subscribe("live.color.*", { max: EVENTS });
    await other.flush();
    return await timed(() =>
      Promise.all([
        (async () => {
          for (let sent = 0; sent < EVENTS;) {
            for (const until = sent + AT_ONCE; sent < until; sent++) {
              const marked = headers();
              marked.set("Nats-Msg-Id", mark());
              one.publish("live.color.red", PAYLOAD, { headers: marked });
            }
            await one.flush();
          }
        })(),
        (async () => {
          for await (const { headers, subject, data } of messages) void [headers?.get("Nats-Msg-Id"), subject, data];
        })(),
      ])
    );
  };
  const keptByBus = () => timed(() => publishAll(kept));
  const keptByLibrary = () => timed(() => publishByLibrary(one, mark));
  const replayed = async () => {
    await using events = kept.subscribe("color.*", { from: "start" });
    return await timed(() => receiveAll(events));
  };
  const replayedByLibrary = async () => {
    const consumer = await jetstream(one).consumers.get(STREAM);
    return await timed(async () => {
      let count = 0;
      for await (const { headers, subject, data, seq } of await consumer.consume({ max_messages: 1000 })) {
        void [headers?.get("Nats-Msg-Id"), subject, data, seq];
        if (++count === EVENTS) break;
      }
    });
  };
  const rows = [];
  for (
    const [what, ours, bare] of [
      ["NATS: events of 100 bytes from one program to another", throughBus, throughLibrary],
      ["NATS: the same into a stream, each acknowledged, 1,000 at a time", keptByBus, keptByLibrary],
      ["NATS: replay of a stream", replayed, replayedByLibrary],
    ] as const
  ) {
    const [rate, bareRate] = await compare(ours, bare);
    rows.push({
      what,
      reach: "at least 0.7 × the client library by itself",
      measured: `${(rate / bareRate).toFixed(2)} × (${thousands(rate)}/s to ${thousands(bareRate)}/s)`,
    });
  }
  await manager.streams.delete(STREAM);
  await Promise.all([one.close(), other.close()]);
  return rows;
}

async function publishAll(bus: Bus): Promise<void> {
  for (let sent = 0; sent < EVENTS; sent += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => bus.publish("color.red", PAYLOAD)));
  }
}

async function publishByLibrary(connection: NatsConnection, mark: () => string): Promise<void> {
  const stream = jetstream(connection);
  for (let sent = 0; sent < EVENTS; sent += AT_ONCE) {
    await Promise.all(
      Array.from({ length: AT_ONCE }, () => stream.publish("kept.color.red", PAYLOAD, { msgID: mark() })),
    );
  }
}

async function receiveAll(events: AsyncIterable<unknown>): Promise<void> {
  let count = 0;
  for await (const _ of events) {
    if (++count === EVENTS) return;
  }
}

// The hub.

async function hubs(address: string, directory: string): Promise<Row[]> {
  const load = await findWsload(directory);
  if (load === undefined) {
    console.error("without wsload, which OLLIE_WSLOAD names, a hub on NATS is not measured");
    return [];
  }
  const start = (...bus: string[]) =>
    Server.start([...RUN, "--allow-net", CLI, "hub", "--listen", "127.0.0.1:0", ...bus], "stderr");
  await using onMemory = await start();
  await using onNats = await start("--stream", "HUB", "--create-stream", `nats://${address}/hub`);
  const rates: [number[], number[]] = [[], []];
  // Others who use the cores change how fast a hub is, and hardly how much it takes.
  const costs: [number[], number[]] = [[], []];
  const options = {
    publish: '{"type":"color","id":"","payload":"%s"}',
    subscribe: JSON.stringify({ type: "__subscribe", payload: { topic: "color" } }),
    conns: 1000,
    window: 50,
    messages: 400,
  };
  for (let round = 0; round < ROUNDS; round++) {
    for (const [which, hub] of [onNats, onMemory].entries()) {
      const before = hub.cpu;
      rates[which].push((await wsload(load, hub.port, options)).rate);
      costs[which].push((hub.cpu - before) * 1000 / options.messages / options.conns);
    }
  }
  const [ours, memory] = rates.map(median);
  const [cost, memoryCost] = costs.map(median);
  const cpu = `${cost.toFixed(1)} µs CPU a delivery to ${memoryCost.toFixed(1)} µs`;
  return [{
    what: "hub on NATS, with a stream: events of 100 bytes to 1,000 subscribers, 50 at a time",
    reach: "at least 0.8 × the same hub on `mem:`",
    measured: `${(ours / memory).toFixed(2)} × (${thousands(ours)}/s to ${thousands(memory)}/s; ${cpu})`,
  }];
}
