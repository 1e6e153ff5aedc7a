/** The hub by itself: sockets that a test makes, a server of its own, a bus that fails. */
import assert from "node:assert/strict";
import { type Bus, BusError, type BusEvent, MemoryBus, type Subscription } from "../../mod.ts";
import { Hub, type HubOptions } from "../../lib/hub/hub.ts";
import { Page, readPage } from "../../lib/hub/page.ts";
import { HubServer } from "../../lib/hub/server.ts";
import { Visitors } from "../../lib/hub/visitors.ts";
import { until, within } from "../deadline.ts";
import { type Heard, OPCODE, RawWebSocket } from "./raw_websocket.ts";

/** A socket that holds what it is handed, and says so, until the test takes it. */
class HeldSocket extends EventTarget {
  readonly readyState = 1;
  readonly protocol: string;
  readonly handed: string[] = [];
  ended: [code?: number, reason?: string] | undefined;
  #sent = 0;

  constructor(protocol = "") {
    super();
    this.protocol = protocol;
  }

  get bufferedAmount(): number {
    return this.handed.slice(this.#sent).reduce((sum, text) => sum + text.length, 0);
  }

  send(text: string): void {
    this.handed.push(text);
  }

  close(code?: number, reason?: string): void {
    this.ended = [code, reason];
  }

  /** All that it holds is on its way. */
  sendAll(): void {
    this.#sent = this.handed.length;
  }

  /** The peer says something. */
  say(envelope: unknown): void {
    this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(envelope) }));
  }

  subscribe(topic: string): void {
    this.say({ type: "__subscribe", payload: { topic } });
  }

  /** The envelopes that it has been handed. */
  get envelopes(): Heard[] {
    return this.handed.flatMap((text) => text.split("\n")).map((line) => JSON.parse(line));
  }
}

/** A hub on a bus in memory, as long as the block lasts. */
async function memoryHub(options: HubOptions = {}) {
  const bus = new MemoryBus();
  const hub = new Hub(bus, options);
  await hub.ready;
  return {
    bus,
    hub,
    async [Symbol.asyncDispose]() {
      await hub.close();
      await bus[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a MessagePort is a socket, too", async () => {
  await using scene = await memoryHub();
  const { hub } = scene;
  const { port1, port2 } = new MessageChannel();
  const heard: Heard[] = [];
  port2.onmessage = ({ data }) => heard.push(JSON.parse(data));
  hub.addConnection(port1);
  port2.postMessage('{"type":"__subscribe","payload":{"topic":"color"}}');
  // Bytes are read as UTF-8, as in a binary frame.
  port2.postMessage(new TextEncoder().encode('{"type":"color","payload":"é"}'));
  port2.postMessage({ type: "color" });
  await until("an event and an error", () => heard.length === 2);
  heard.sort(({ type: a }, { type: b }) => a < b ? -1 : 1);
  assert.deepEqual(heard[1], { type: "color", id: "", payload: "é" });
  assert.equal(heard[0].payload.reason, "this is no text");
  assert.equal(hub.stats.connections, 1);
  hub.removeConnection(port1);
  assert.deepEqual([hub.stats.connections, hub.stats.subscriptions], [0, 0]);
  await hub.publish("color", "blue");
  port1.close();
  port2.close();
  assert.equal(heard.length, 2);
});

Deno.test("whoever runs the hub is told who comes, goes and subscribes, and who is too slow", async () => {
  const told: unknown[] = [];
  await using scene = await memoryHub({
    maxBuffer: 10_000,
    onConnect: ({ id }) => told.push(["connect", id]),
    onDisconnect: ({ id }) => told.push(["disconnect", id]),
    onSubscribe: ({ id }, filter) => told.push(["subscribe", id, filter]),
    onBackpressure: ({ id }, queuedBytes) => told.push(["backpressure", id, queuedBytes > 0 && queuedBytes <= 10_000]),
  });
  const { hub } = scene;
  const [slow, quick] = [new HeldSocket(), new HeldSocket("ollie.batch.v1")];
  hub.addConnection(slow);
  hub.addConnection(quick);
  for (const socket of [slow, quick]) socket.subscribe("n");
  let published = 0;
  while (slow.ended === undefined) {
    await hub.publish("n", `${published++} ${"x".repeat(1000)}`);
    await until("the event", () => {
      quick.sendAll();
      return quick.envelopes.length === published;
    });
  }
  quick.dispatchEvent(new Event("close"));
  assert.deepEqual(told, [
    ["connect", 1],
    ["connect", 2],
    ["subscribe", 1, "n"],
    ["subscribe", 2, "n"],
    ["disconnect", 1],
    ["backpressure", 1, true],
    ["disconnect", 2],
  ]);
  assert.deepEqual(slow.ended, [1013, "events came faster than they were read"]);
  assert.equal(quick.ended, undefined);
  const { connections, subscriptions, queuedBytes, slowConsumers } = hub.stats;
  assert.deepEqual([connections, subscriptions, queuedBytes, slowConsumers], [0, 0, 0, 1]);
});

Deno.test("a socket is handed no more than 64 KiB that it has not sent, but for one frame, and all of it in the end", async () => {
  for (const protocol of ["", "ollie.batch.v1"]) {
    await using scene = await memoryHub();
    const { hub } = scene;
    const socket = new HeldSocket(protocol);
    hub.addConnection(socket);
    socket.subscribe("n");
    const sizes = Array.from({ length: 300 }, (_, i) => i % 50 === 49 ? 100_000 : i * 10);
    const publishing = (async () => {
      for (const [i, size] of sizes.entries()) await hub.publish("n", `${i} `.padEnd(size, "x"));
    })();
    while (socket.envelopes.length < sizes.length) {
      const held = socket.bufferedAmount;
      assert(held <= 64 * 1024 || held < 101_000, `${held} bytes were handed over`);
      assert.equal(socket.ended, undefined);
      socket.sendAll();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await publishing;
    assert.deepEqual(socket.envelopes.map(({ payload }) => parseInt(payload)), sizes.map((_, i) => i));
  }
});

Deno.test("a socket that takes nothing for a while is given up, though little waits for it", async () => {
  await using scene = await memoryHub({ stallTimeout: 100 });
  const { hub } = scene;
  const [dead, alive] = [new HeldSocket(), new HeldSocket()];
  for (const socket of [dead, alive]) {
    hub.addConnection(socket);
    socket.subscribe("n");
  }
  for (let i = 0; i < 2; i++) await hub.publish("n", "x".repeat(40_000));
  await until("the end of the one that takes nothing", () => {
    alive.sendAll();
    return dead.ended !== undefined;
  });
  assert.deepEqual(dead.ended, [1013, "nothing has been taken of what was sent"]);
  assert.equal(alive.ended, undefined);
  assert.equal(hub.stats.connections, 1);
});

Deno.test("a hub that has ended takes nobody more", async () => {
  const bus = new MemoryBus();
  const hub = new Hub(bus);
  await hub.ready;
  const socket = new HeldSocket();
  hub.addConnection(socket);
  await hub.close();
  assert.deepEqual(socket.ended, [1001, "the hub is ending"]);
  const late = new HeldSocket();
  hub.addConnection(late);
  assert.deepEqual(late.ended, [1001, "the hub is ending"]);
  late.subscribe("n");
  await bus.publish("n", "x");
  assert.deepEqual([late.handed, hub.stats.connections], [[], 0]);
  await bus[Symbol.asyncDispose]();
});

/** A bus whose events and failures a test makes. */
class FailingBus implements Bus {
  readonly inner = new MemoryBus();
  refusal: Error | undefined;
  subscriptions: Subscription[] = [];

  publish(topic: string, payload: Uint8Array | string) {
    return this.refusal === undefined ? this.inner.publish(topic, payload) : Promise.reject(this.refusal);
  }

  subscribe(filter: string | readonly string[]): Subscription {
    const subscription = this.inner.subscribe(filter);
    this.subscriptions.push(subscription);
    return subscription;
  }

  identity(): Promise<string> {
    return this.inner.identity();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.inner[Symbol.asyncDispose]();
  }
}

Deno.test("a bus that refuses events does not keep publishers waiting, who are told, and not to blame", async () => {
  await using bus = new FailingBus();
  const hub = new Hub(bus);
  await hub.ready;
  const socket = new HeldSocket();
  hub.addConnection(socket);
  socket.subscribe("n");
  bus.refusal = new BusError("the disk is full");
  // More in all than may be ahead of the hub, and more errors than a client may make.
  const count = 200;
  for (let i = 0; i < count; i++) socket.say({ type: "n", payload: "x".repeat(100_000), ref: i });
  await until("an error for each", () => {
    socket.sendAll();
    return socket.envelopes.length === count;
  });
  assert.deepEqual(
    socket.envelopes.map(({ payload }) => payload),
    Array.from({ length: count }, (_, ref) => (
      { reason: "the disk is full", topic: "n", ref }
    )),
  );
  bus.refusal = undefined;
  socket.say({ type: "n", payload: "at last" });
  await until("the event", () => socket.envelopes.at(-1)?.payload === "at last");
  assert.equal(socket.ended, undefined);
  await hub.close();
});

Deno.test("when the bus fails, all are told to come back, and who does is served on", async () => {
  await using bus = new FailingBus();
  const logged: string[] = [];
  const hub = new Hub(bus, { log: (line) => logged.push(line) });
  await hub.ready;
  const before = new HeldSocket();
  hub.addConnection(before);
  before.subscribe("n");
  await bus.subscriptions[0].return();
  await until("the end of the connection", () => before.ended !== undefined);
  assert.deepEqual(before.ended, [1013, "the hub may have missed events of its bus: connect again, and resume"]);
  assert.equal(logged.length, 1);
  assert.match(logged[0], /^the bus failed, and is tried again: /);
  const after = await (async () => {
    for (;;) {
      const socket = new HeldSocket();
      hub.addConnection(socket);
      if (socket.ended === undefined) return socket;
      assert.equal(socket.ended[0], 1013);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  after.subscribe("n");
  await hub.publish("n", "x");
  await until("the event", () => after.envelopes.length === 1);
  await hub.close();
});

Deno.test("an event that cannot be made a frame of costs nobody more than that event", async () => {
  await using bus = new FailingBus();
  const logged: string[] = [];
  const hub = new Hub(bus, { log: (line) => logged.push(line) });
  await hub.ready;
  const socket = new HeldSocket();
  hub.addConnection(socket);
  socket.subscribe(">");
  // A carrier that breaks its promise stands for a fault of ours that nobody has thought of.
  const broken = { id: "1", time: "", topic: "n", payload: { length: 1 } } as unknown as BusEvent;
  const subscription = bus.subscriptions[0] as unknown as { deliver(event: BusEvent): void };
  await bus.publish("n", "before");
  subscription.deliver(broken);
  await bus.publish("n", "after");
  await until("both events, or the end", () => socket.envelopes.length === 2 || socket.ended !== undefined);
  assert.deepEqual(socket.envelopes.map(({ payload }) => payload), ["before", "after"]);
  for (const line of logged) assert.match(line, /^internal error: /);
  await hub.close();
});

Deno.test("a peer that answers no pings is found, and one that does is not, though it says nothing", async () => {
  await using scene = await memoryHub();
  const { bus, hub } = scene;
  const server = new HubServer({
    bus,
    hub,
    visitors: new Visitors({ loopback: true, allowed: [] }),
    anonymous: false,
    maxConnections: 10,
    maxMessage: 1000,
    idleTimeout: 2,
    page: new Page(await readPage()),
  });
  const listening = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => server.handle(request),
  );
  try {
    const { port } = listening.addr;
    using silent = await RawWebSocket.connect(port);
    using answering = await RawWebSocket.connect(port);
    await silent.subscribe(">");
    await until("both", () => hub.stats.connections === 2);
    let pings = 0;
    const reading = (async () => {
      for (let frame; (frame = await answering.frame()) !== undefined;) {
        if (frame.opcode !== OPCODE.ping) continue;
        pings++;
        await answering.send({ opcode: OPCODE.pong, payload: frame.payload });
      }
    })();
    // It gets the pings, which is all that it would have to answer.
    assert.equal((await silent.frame())?.opcode, OPCODE.ping);
    await until("the end of the one that is silent", () => hub.stats.connections === 1);
    assert.equal(hub.stats.subscriptions, 0);
    const sofar = pings;
    await until("more pings for the other", () => pings >= sofar + 2);
    assert.equal(hub.stats.connections, 1);
    answering[Symbol.dispose]();
    await within(reading, "the end of the connection");
    await until("its end", () => hub.stats.connections === 0);
  } finally {
    await listening.shutdown();
  }
});
