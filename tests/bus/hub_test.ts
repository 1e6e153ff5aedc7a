/** A hub as a bus. */
import assert from "node:assert/strict";
import {
  BusError,
  FilterError,
  HubBus,
  openBus,
  SlowConsumerError,
  TopicError,
  UnreadableEventError,
} from "../../mod.ts";
import { OLLIE, ollie, Running } from "../cli/ollie.ts";
import { until, within } from "../deadline.ts";
import { RestartedHub, startHub } from "../hub/running_hub.ts";
import { eventOf, type Peer, ScriptedHub, timeOf } from "../hub/scripted_hub.ts";
import { temporaryDirectory } from "../temporary.ts";
import { payloadsOf, take, textsOf } from "./reading.ts";

Deno.test("what is refused is refused in words", async () => {
  await using bus = new HubBus("ws://127.0.0.1:1");
  await assert.rejects(bus.publish("a..b", ""), TopicError);
  assert.throws(() => bus.subscribe("a.>.b"), FilterError);
  assert.throws(() => bus.subscribe("n", { window: 5000 }), /does not tell which events there were just before now/);
  await assert.rejects(openBus("ws://"), BusError);
  await assert.rejects(openBus("wss://a#b"), BusError);
  assert(await openBus("WS://127.0.0.1") instanceof HubBus);
});

Deno.test("a first connection that cannot be made is told of, with the reason", async () => {
  async function reasons(bus: HubBus): Promise<void> {
    await using subscription = bus.subscribe("n");
    const errors = await Promise.all(
      [subscription.ready, subscription.next(), bus.publish("n", "x"), bus.publish("n", "y")].map((promise) =>
        (promise as Promise<unknown>).then(() => assert.fail("it worked"), (error) => error)
      ),
    );
    for (const error of errors) assert(error instanceof BusError);
    const messages = new Set(errors.map(({ message }) => message));
    assert.equal(messages.size, 1);
    for (const message of messages) throw new Error(message);
  }
  const refusing = (status: number) => ({ refuse: () => new Response("no", { status }) });
  {
    await using nobody = new HubBus("ws://127.0.0.1:1");
    await assert.rejects(reasons(nobody), /^Error: cannot connect to ws:\/\/127\.0\.0\.1:1\/: no hub answers there/);
  }
  for (
    const [status, token, reason] of [
      [401, undefined, /: the hub lets nobody in without a token, and none was given \(401\)$/],
      [401, "wrong", /: the hub does not know the token \(401\)$/],
      [403, undefined, /\(403\)$/],
      [503, undefined, /\(503\)$/],
      [200, undefined, /takes no WebSocket \(status 200\)/],
    ] as const
  ) {
    await using hub = new ScriptedHub(refusing(status));
    await using bus = new HubBus(hub.url, { token });
    await assert.rejects(reasons(bus), reason);
  }
  await using hub = new ScriptedHub();
  await using bus = new HubBus(hub.url);
  await using subscription = bus.subscribe("n");
  (await hub.next()).close(1008, "not you");
  await assert.rejects(subscription.ready, /^BusError: cannot connect to ws:.*: not you$/);
});

Deno.test("a publisher that could not connect tries again when it is asked to", async () => {
  let port: number;
  {
    await using hub = new ScriptedHub();
    port = hub.port;
  }
  await using bus = new HubBus(`ws://127.0.0.1:${port}`);
  await assert.rejects(bus.publish("n", "x"), /cannot connect/);
  await using hub = new ScriptedHub({ port });
  const published = bus.publish("n", "y");
  assert.equal(await (await hub.next()).publish("7"), "y");
  assert.deepEqual(await published, { id: "7", time: timeOf(0) });
});

Deno.test("a token that a hub knows no longer ends what it let in before", async () => {
  let forbidden = false;
  await using hub = new ScriptedHub({ refuse: () => forbidden ? new Response("", { status: 401 }) : undefined });
  await using bus = new HubBus(hub.url, { token: "old" });
  await using subscription = bus.subscribe("n");
  const peer = await hub.next();
  await peer.accept("1", timeOf(1));
  await subscription.ready;
  const published = bus.publish("n", "x").catch((error) => error);
  const publisher = await hub.next();
  await publisher.next();
  forbidden = true;
  peer.close();
  publisher.close();
  await assert.rejects(subscription.next(), /does not know the token/);
  assert.match((await published).message, /does not know the token/);
});

Deno.test("a subscription begins where it is asked to", async () => {
  await using hub = new ScriptedHub();
  await using bus = new HubBus(hub.url);
  for (
    const [from, beginning, position] of [
      [undefined, { replay: 0 }, undefined],
      ["now", { replay: 0 }, undefined],
      ["start", { replay: "all" }, { after: undefined, seen: [] }],
      [{ last: 3 }, { replay: 3 }, undefined],
      [{ after: "7" }, { after: "7" }, { after: { id: "7", time: "" }, seen: [] }],
    ] as const
  ) {
    await using subscription = bus.subscribe(["n", "m"], { from });
    const peer = await hub.next();
    assert.deepEqual(await peer.accept("9", timeOf(9)), { topic: ["n", "m"], ...beginning, via: true });
    assert.deepEqual(await subscription.ready, position);
    peer.events(10);
    const [event] = await take(subscription, 1);
    assert.deepEqual(event, { id: "10", time: timeOf(10), topic: "n", payload: new TextEncoder().encode("10") });
  }
  for (
    const [at, position] of [
      ["9", { after: { id: "9", time: timeOf(9) }, seen: [] }],
      [null, { after: undefined, seen: [] }],
      [undefined, undefined],
    ] as const
  ) {
    await using subscription = bus.subscribe("n", { window: 0 });
    await (await hub.next()).accept(at, typeof at === "string" ? timeOf(9) : undefined);
    assert.deepEqual(await subscription.ready, position);
  }
  // Nothing to hear of is no reason to be left waiting.
  await using nothing = bus.subscribe([]);
  await hub.next();
  await within(nothing.ready, "a subscription to nothing");
});

Deno.test("a subscription is ready when the past has begun to come, though nobody reads it", async () => {
  await using hub = new ScriptedHub();
  await using bus = new HubBus(hub.url);
  await using subscription = bus.subscribe("n", { from: "start" });
  const peer = await hub.next();
  await peer.expect("__subscribe");
  peer.events(1);
  await within(subscription.ready, "readiness");
  // Interrupted there, it goes on there.
  peer.close();
  const again = await hub.next();
  const asked = await again.expect("__subscribe");
  assert.deepEqual(asked.payload, { topic: ["n"], after: null, via: true });
  again.events(1, 2);
  assert.deepEqual(await textsOf(subscription, 2), ["1", "2"]);
});

Deno.test("what the hub refuses, the subscription is told", async () => {
  await using hub = new ScriptedHub();
  await using bus = new HubBus(hub.url);
  await using subscription = bus.subscribe("n", { from: "start" });
  const peer = await hub.next();
  await peer.refuse("a mem: bus keeps no events");
  await assert.rejects(subscription.ready, /^BusError: ws:.*: a mem: bus keeps no events$/);
  await assert.rejects(subscription.next(), BusError);
  await within(peer.closed, "the end of its connection");
});

Deno.test("payloads come through to the byte", async () => {
  await using hub = new ScriptedHub();
  await using bus = new HubBus(hub.url);
  await using subscription = bus.subscribe("n");
  const peer = await hub.next();
  await peer.accept("0", timeOf(0));
  const text = new TextEncoder();
  const payloads = [
    "",
    "red",
    "red\n",
    '"red"',
    "1.0",
    "12345678901234567890",
    '{"a": [1.50, "b"],\n "c": null}',
    "null",
    " 5",
    "\ufeff1",
    '"\\ud800"',
  ].map((payload) => text.encode(payload));
  payloads.push(Uint8Array.from({ length: 256 }, (_, i) => i));
  const published = payloads.map((payload) => bus.publish("n", payload));
  const publisher = await hub.next();
  for (const [i] of payloads.entries()) {
    // The frame itself, since a parsed number is not what was written.
    const { ref, ...frame } = await publisher.next();
    peer.raw(JSON.stringify({ ...frame, at: `${i}`, time: timeOf(i) }));
    publisher.send({ type: "__published", payload: { ref, at: `${i}`, time: timeOf(i) } });
  }
  await Promise.all(published);
  const events = await take(subscription, payloads.length);
  // What a JSON value does not say, its bytes do; a number alone is beyond this test's own JSON.
  for (const [i, event] of events.entries()) {
    if (["1.0", "12345678901234567890"].includes(new TextDecoder().decode(payloads[i]))) continue;
    assert.deepEqual(event.payload, payloads[i]);
  }
  for (const payload of ["1.0", "12345678901234567890", '{"a":[1e1,-0]}']) {
    peer.raw(`{"type":"n","id":"","payload":${payload},"at":"${payload.length + 100}","time":"${timeOf(20)}"}`);
    assert.deepEqual(await textsOf(subscription, 1), [payload]);
  }
});

Deno.test("a hub that is restarted is survived without a word, and an event that came twice comes once", async () => {
  const first = new ScriptedHub();
  const { port } = first;
  await using bus = new HubBus(first.url);
  await using subscription = bus.subscribe("n");
  const peer = await first.next();
  await peer.accept("0", timeOf(0));
  peer.events(1, 2);
  assert.deepEqual(await textsOf(subscription, 2), ["1", "2"]);
  await first[Symbol.asyncDispose]();
  await using second = new ScriptedHub({ port });
  const again = await second.next();
  const { payload } = await again.expect("__subscribe");
  assert.deepEqual(payload, { topic: ["n"], after: "0", via: true });
  again.events(1, 2, 3);
  again.subscribed(payload, "3", timeOf(3));
  assert.deepEqual(await textsOf(subscription, 1), ["3"]);
});

Deno.test("where events may have been missed, the subscription fails and says so", async () => {
  await using hub = new ScriptedHub();
  await using bus = new HubBus(hub.url);
  await using subscription = bus.subscribe("n");
  const peer = await hub.next();
  await peer.accept();
  peer.events(1);
  assert.deepEqual(await textsOf(subscription, 1), ["1"]);
  peer.close();
  const again = await hub.next();
  await again.refuse("a mem: bus keeps no events");
  await again.accept();
  again.events(5);
  await assert.rejects(subscription.next(), /events may have been missed, .* \(a mem: bus keeps no events\)$/);
  assert.deepEqual(await subscription.next(), { done: true, value: undefined });
});

/** Sends events until the client ends the connection. Returns how many. */
async function flood(peer: Peer, from: number, to: number): Promise<number> {
  let closed = false;
  peer.closed.then(() => closed = true);
  let sent = from;
  while (!closed && sent < to) {
    const envelopes = [];
    for (let i = 0; i < 64 && sent < to; i++) {
      sent++;
      envelopes.push({ ...eventOf("n", sent), payload: `${sent} ${"x".repeat(1000)}` });
    }
    peer.send(...envelopes);
    // What has been sent is read by the client in its own time.
    await new Promise((resolve) => setTimeout(resolve));
  }
  return sent;
}

Deno.test("a subscriber that does not read has some MiB in memory, and gets every event in the end", async () => {
  await using hub = new ScriptedHub();
  await using bus = new HubBus(hub.url);
  await using subscription = bus.subscribe("n");
  const total = 20_000;
  let sent = 0;
  let connections = 0;
  const givenUp = Promise.withResolvers<void>();
  // Serves the subscription, from wherever it asks.
  const serving = (async () => {
    while (sent < total) {
      const peer = await hub.next();
      connections++;
      const { payload } = await peer.expect("__subscribe");
      const after = (payload as { after?: string }).after ?? "0";
      assert(Number(after) <= sent);
      if (after === "0") peer.subscribed(payload, "0", timeOf(0));
      sent = await flood(peer, Number(after), total);
      givenUp.resolve();
      if (after !== "0") peer.subscribed(payload, String(sent), timeOf(sent));
    }
  })();
  await subscription.ready;
  await within(givenUp.promise, "the end of the first connection");
  // Some MiB, and what was on its way; far from all.
  assert(sent < total / 2, `${sent}`);
  const got = [];
  for (let i = 0; i < total; i++) got.push(parseInt((await textsOf(subscription, 1))[0] ?? ""));
  await within(serving, "the end of the events");
  assert.deepEqual(got, Array.from({ length: total }, (_, i) => i + 1));
  assert(connections > 1, `${connections}`);
});

Deno.test("a subscriber that does not read is told what it missed, where the past is not to be had", async () => {
  await using hub = new ScriptedHub();
  await using bus = new HubBus(hub.url);
  await using subscription = bus.subscribe("n");
  const peer = await hub.next();
  await peer.accept();
  await flood(peer, 0, 100_000);
  const again = (async () => {
    const peer = await hub.next();
    await peer.refuse("a mem: bus keeps no events");
    await peer.accept();
  })();
  let got = 0;
  await assert.rejects(async () => {
    for await (const { payload } of subscription) {
      got++;
      assert.equal(parseInt(new TextDecoder().decode(payload)), got);
    }
  }, (error) => error instanceof SlowConsumerError && /read too slowly/.test(error.message));
  await again;
  // Some MiB, and not all that came.
  assert(got > 2000 && got < 8000, `${got}`);
});

Deno.test("an event that the hub cannot read is told of in its place, and passed by", async () => {
  await using hub = new ScriptedHub();
  await using bus = new HubBus(hub.url);
  await using subscription = bus.subscribe("n");
  const peer = await hub.next();
  await peer.accept("0", timeOf(0));
  peer.send(eventOf("n", 1), { type: "__error", payload: { reason: "cannot read 2" } }, eventOf("n", 3));
  assert.deepEqual(await textsOf(subscription, 1), ["1"]);
  await assert.rejects(
    subscription.next(),
    (error) => error instanceof UnreadableEventError && /cannot read 2/.test(error.message),
  );
  assert.deepEqual(await textsOf(subscription, 1), ["3"]);
});

Deno.test("what is no hub is said to be none", async () => {
  for (
    const [envelope, reason] of [
      [{ type: "n", payload: 1 }, /without "at" and "time": it is no hub/],
      [{ type: "n", payload: null, payload_base64: "?", at: "1", time: "x" }, /is not base64: it is no hub/],
    ] as const
  ) {
    await using hub = new ScriptedHub();
    await using bus = new HubBus(hub.url);
    await using subscription = bus.subscribe("n");
    const peer = await hub.next();
    await peer.accept("0", timeOf(0));
    peer.send(envelope);
    await assert.rejects(subscription.next(), reason);
  }
});

Deno.test("ending a subscription ends its connection, however it is ended", async () => {
  await using hub = new ScriptedHub();
  await using bus = new HubBus(hub.url);
  const stop = new AbortController();
  const subscriptions = [bus.subscribe("a"), bus.subscribe("b"), bus.subscribe("c", { signal: stop.signal })];
  const peers = [];
  for (const _ of subscriptions) {
    const peer = await hub.next();
    await peer.accept("0", timeOf(0));
    peer.send(eventOf("n", 1));
    peers.push(peer);
  }
  assert.deepEqual(payloadsOf(await take(subscriptions[0], 1)), ["1"]);
  await subscriptions[0].return();
  for await (const _ of subscriptions[1]) break;
  stop.abort();
  for (const peer of peers) await within(peer.closed, "the end of a connection");
  const aborted = bus.subscribe("d", { signal: stop.signal });
  assert.deepEqual(await aborted.next(), { done: true, value: undefined });
});

Deno.test("a bus that was closed stays closed", async () => {
  await using hub = new ScriptedHub();
  const bus = new HubBus(hub.url);
  const subscription = bus.subscribe("n");
  const first = bus.publish("n", "1");
  await hub.next().then((peer) => peer.expect("__subscribe"));
  const [, id] = await Promise.all([
    within(bus[Symbol.asyncDispose](), "the end of the bus"),
    hub.next().then((peer) => peer.publish("7")),
  ]);
  assert.equal(id, 1);
  assert.equal((await first).id, "7");
  assert.deepEqual(await subscription.next(), { done: true, value: undefined });
  await assert.rejects(bus.publish("n", "2"), /was closed/);
  await assert.rejects(bus.subscribe("n").ready, /was closed/);
  assert.equal(hub.size, 0);
});

// From here on, against the real one.

Deno.test("what is published through a hub is on its bus, to the byte, with the id that it got there", async () => {
  using directory = temporaryDirectory();
  await using hub = await startHub(directory.path);
  await using there = await openBus(directory.path);
  await using bus = await openBus(hub.url);
  await using live = bus.subscribe(">");
  await live.ready;
  const text = new TextEncoder();
  const payloads = [
    new Uint8Array(0),
    ...["red\n", "a\nb\n\n", '"5"', " 5 \r\n", "1.0", "12345678901234567890", '{"a": [1.50, "b"],\n "c": null}'].map((
      payload,
    ) => text.encode(payload)),
    Uint8Array.from({ length: 256 }, (_, i) => i),
    new Uint8Array(700_000).fill(200),
  ];
  const published = [];
  for (const payload of payloads) published.push(await bus.publish("message.sent:c", payload));
  const events = await take(there.subscribe(">", { from: "start" }), payloads.length);
  assert.deepEqual(events.map(({ payload }) => payload), payloads);
  assert.deepEqual(events.map(({ id, time }) => ({ id, time })), published);
  assert.deepEqual(await take(live, payloads.length), events);
  assert.deepEqual(await take(bus.subscribe(">", { from: "start" }), payloads.length), events);
  assert.deepEqual(await take(bus.subscribe(">", { from: { last: 2 } }), 2), events.slice(-2));
  assert.deepEqual(await take(bus.subscribe("*.*", { from: { after: published[3].id } }), 1), events.slice(4, 5));
  await assert.rejects(bus.publish("n", new Uint8Array(2_000_000)), /this message is too large: 1048576 bytes/);
});

Deno.test("events published at once come in the order in which they were published", async () => {
  await using hub = await startHub();
  await using bus = await openBus(hub.url);
  await using events = bus.subscribe("n.*");
  await events.ready;
  const sent = Array.from({ length: 2000 }, (_, i) => `${i} ${"x".repeat(i)}`);
  await Promise.all(sent.map((payload, i) => bus.publish(`n.${i}`, payload)));
  assert.deepEqual(await textsOf(events, sent.length), sent);
});

Deno.test("a hub lets in who shows a token that it knows, and tells others so", async () => {
  using directory = temporaryDirectory();
  Deno.writeTextFileSync(`${directory.path}/tokens`, "s3cret alice sub=n pub=n\n");
  await using hub = await startHub("mem:", { args: ["--tokens", `${directory.path}/tokens`] });
  await using nobody = new HubBus(hub.url);
  await assert.rejects(nobody.publish("n", "x"), /none was given \(401\)/);
  await using wrong = new HubBus(hub.url, { token: "wrong" });
  await assert.rejects(wrong.subscribe("n").next(), /does not know the token \(401\)/);
  await using alice = await openBus(hub.url.replace("//", "//:s3cret@"));
  await using events = alice.subscribe("n");
  await events.ready;
  await alice.publish("n", "x");
  assert.deepEqual(await textsOf(events, 1), ["x"]);
  await assert.rejects(alice.publish("m", "x"), /alice may not publish "m"/);
  await assert.rejects(alice.subscribe(["n", "m"]).ready, /alice may not subscribe to "m"/);
});

Deno.test("a mem: bus has no past to give, and a subscription that it ended says what that means", async () => {
  await using hub = await RestartedHub.start();
  await using bus = await openBus(hub.url);
  await assert.rejects(bus.subscribe("n", { from: "start" }).ready, /a mem: bus keeps no events/);
  await using events = bus.subscribe("n");
  await events.ready;
  await bus.publish("n", "1");
  assert.deepEqual(await textsOf(events, 1), ["1"]);
  await hub.kill();
  await hub.restart();
  await assert.rejects(events.next(), /events may have been missed/);
  // The bus itself is as good as new.
  await using again = bus.subscribe("n");
  await again.ready;
  await bus.publish("n", "2");
  assert.deepEqual(await textsOf(again, 1), ["2"]);
});

Deno.test("through 20 kills of the hub, a subscription gets every event once, in order", async () => {
  using directory = temporaryDirectory();
  await using hub = await RestartedHub.start(directory.path);
  await using bus = await openBus(hub.url);
  await using publisher = new Running([...OLLIE, "pub", "--lines", "-v", directory.path, "n"]);
  let written = 0;
  const write = async (count: number) => {
    await publisher.write(Array.from({ length: count }, () => `${written++}\n`).join(""));
    await publisher.stdout.take(count);
  };
  await using events = bus.subscribe("n", { from: "start" });
  await events.ready;
  await write(10);
  const got = await textsOf(events, 10);
  for (let kill = 0; kill < 20; kill++) {
    const writing = write(30);
    // Some are on their way when it is killed, none, or all.
    if (kill % 3 !== 0) got.push(...await textsOf(events, written - got.length - (kill % 3 === 1 ? 15 : 0)));
    await hub.kill();
    await writing;
    await write(30);
    await hub.restart();
    got.push(...await textsOf(events, written - got.length));
  }
  assert.deepEqual(got, Array.from({ length: written }, (_, i) => String(i)));
});

Deno.test("a reader that stops while 50 MB pass has some MB in memory, and gets every event once", async () => {
  using directory = temporaryDirectory();
  const bus = `${directory.path}/bus`;
  await using hub = await startHub(bus);
  const program = `${directory.path}/reader.ts`;
  Deno.writeTextFileSync(
    program,
    `
    import { HubBus } from ${JSON.stringify(new URL("../../lib/bus/hub.ts", import.meta.url).href)};
    const count = Number(Deno.args[1]);
    await using bus = new HubBus(Deno.args[0]);
    await using events = bus.subscribe("n");
    await events.ready;
    console.log("ready");
    await Deno.stdin.read(new Uint8Array(1));
    const got = new Set();
    let all = 0;
    for await (const { payload } of events) {
      got.add(parseInt(new TextDecoder().decode(payload)));
      if (++all === count) break;
    }
    console.log(all, got.size, Math.max(...got));`,
  );
  const count = 5000;
  await using reader = new Running([
    Deno.execPath(),
    ...["run", "--quiet", "--no-prompt", "--no-check", "--allow-net", "--allow-read", program, hub.url, `${count}`],
  ]);
  assert.equal(await reader.stdout.next(), "ready");
  const before = reader.peakMemory;
  await using there = await openBus(bus);
  for (let i = 0; i < count; i++) await there.publish("n", `${i} ${"x".repeat(10_000)}`);
  await until("the end of the reader's connection", async () => {
    const metrics = await metricsOf(hub.url);
    return metrics.ollie_connections === 0 && metrics.ollie_delivered_bytes_total > 4_000_000;
  });
  const grown = reader.peakMemory - before;
  assert(grown < 40_000_000, `it took ${grown} bytes more than the ${before} before`);
  await reader.write("\n");
  assert.equal(await reader.stdout.next(), `${count} ${count} ${count - 1}`);
});

/** What a hub has counted. */
async function metricsOf(url: string): Promise<Record<string, number>> {
  const text = await (await fetch(new URL("/metrics", url.replace("ws:", "http:")))).text();
  return Object.fromEntries(Array.from(text.matchAll(/^(\w+) (\d+)$/gm), ([, name, value]) => [name, Number(value)]));
}

Deno.test("ollie pub and ollie sub speak to a hub, and a hub serves another one", async () => {
  using directory = temporaryDirectory();
  await using far = await startHub(directory.path);
  await using near = await startHub(far.url);
  await using live = await Running.sub("-m", "-f", "text", near.url);
  for (const [address, data] of [[far.url, "red"], [near.url, "green"], [directory.path, "blue"]]) {
    const { code, stderr } = await ollie(["pub", "-d", data, address, "color"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal(await live.stdout.next(), `color ${data}`);
  }
  assert.equal(
    (await ollie(["sub", "-H", "-c", "3", "-f", "text", near.url])).stdout,
    "color red\ncolor green\ncolor blue\n",
  );
  // A cursor is a file, which may still be read and written.
  const cursor = `${directory.path}/cursor`;
  for (const data of ["red", "green", "blue"]) {
    const { code, stdout, stderr } = await ollie(["sub", "--cursor", cursor, far.url]);
    assert.deepEqual([code, stdout, stderr], [0, data, ""]);
  }
  assert.match(
    (await ollie(["sub", "-n", "--cursor", `${cursor}2`, far.url])).stderr,
    /just before now: begin with the past/,
  );
  const { code, stderr } = await ollie(["pub", "-d", "x", "ws://127.0.0.1:1"]);
  assert.equal(code, 1);
  assert.match(stderr, /^ollie pub: cannot connect to ws:\/\/127\.0\.0\.1:1\/: no hub answers there[^\n]*\n$/);
  assert.match((await ollie(["sub", "ws://a b"])).stderr, /^ollie sub: "ws:\/\/a b" is not a hub's address/);
});

Deno.test("who says wss: to a hub without TLS is told, and shows nobody the token", async () => {
  const shown: (string | null)[] = [];
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ headers }) => {
    shown.push(headers.get("authorization"));
    return new Response("");
  });
  const { code, stderr } = await ollie(["pub", "-d", "x", `wss://:secret@127.0.0.1:${server.addr.port}`]);
  const where = `127.0.0.1:${server.addr.port}`;
  assert.deepEqual([code, stderr], [
    1,
    `ollie pub: cannot connect to wss://${where}/: what answers there does so without TLS: its address is ws://${where}\n`,
  ]);
  assert.deepEqual(shown, [null]);
});
