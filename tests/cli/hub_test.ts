/** `ollie hub` as people run it: how it begins, what it withstands, and how it ends. */
import assert from "node:assert/strict";
import { DirectoryBus } from "../../mod.ts";
import { until } from "../deadline.ts";
import { BytesReader, writeAll } from "../hub/bytes_reader.ts";
import { EventStream } from "../hub/event_stream.ts";
import { HubProcess } from "../hub/hub_process.ts";
import { OPCODE, RawWebSocket } from "../hub/raw_websocket.ts";
import { temporaryDirectory } from "../temporary.ts";
import { OLLIE, ollie, Running, shell, startServer } from "./ollie.ts";

for (const [signal, status] of [["SIGTERM", 0], ["SIGINT", 130]] as const) {
  Deno.test(`${signal} ends every connection with 1001, after what it was due, and then the hub`, async () => {
    using directory = temporaryDirectory();
    await using hub = await HubProcess.start(directory.path);
    using peer = await RawWebSocket.connect(hub.port);
    using other = await RawWebSocket.connect(hub.port, { protocols: ["ollie.batch.v1"] });
    await peer.subscribe("color");
    await using stream = await EventStream.open(`${hub.url}/sub/color`);
    using half = await Deno.connect({ hostname: "127.0.0.1", port: hub.port });
    await writeAll(half, new TextEncoder().encode("GET / HTTP/1.1\r\nHost: local"));
    await peer.say({ type: "color", payload: "red" });
    assert.equal((await peer.hear()).payload, "red");
    const began = performance.now();
    hub.running.signal(signal);
    assert.equal((await peer.ending())?.code, 1001);
    assert.equal((await other.ending())?.code, 1001);
    assert.equal(JSON.parse((await stream.event()).data).payload, "red");
    assert.equal(await stream.next(), undefined);
    assert.equal((await hub.running.status).code, status);
    assert(performance.now() - began < 5000, "it ends within 5 s");
    assert.deepEqual(await hub.running.stderr.rest(), []);
    await assert.rejects(RawWebSocket.connect(hub.port));
  });
}

Deno.test("what a client has been told is published, is there after SIGTERM, and what it sent before is, too", async () => {
  using directory = temporaryDirectory();
  await using hub = await HubProcess.start(directory.path);
  using peer = await RawWebSocket.connect(hub.port);
  const count = 3000;
  await peer.say(...Array.from({ length: count }, (_, i) => ({ type: "n", payload: i })));
  // The answer says that the hub has taken all of it, though not that all of it is on the bus.
  await peer.settled();
  hub.running.signal("SIGTERM");
  assert.equal((await hub.running.status).code, 0);
  await using bus = new DirectoryBus(directory.path);
  await using events = bus.subscribe("n", { from: "start" });
  for (let i = 0; i < count; i++) {
    assert.equal(new TextDecoder().decode((await events.next()).value?.payload), String(i));
  }
});

Deno.test("a client that reads nothing cannot keep the hub from ending", async () => {
  await using hub = await HubProcess.start("--max-buffer", "100M");
  using peer = await RawWebSocket.connect(hub.port);
  await peer.say({ type: "__subscribe", payload: { topic: ">" } });
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: hub.port });
  await writeAll(connection, new TextEncoder().encode(`GET /sub/%3E HTTP/1.1\r\nHost: localhost\r\n\r\n`));
  await hub.untilMetric("streams", 1);
  using publisher = await RawWebSocket.connect(hub.port);
  // More than the buffers of the kernel take.
  const payload = "x".repeat(500_000);
  while (await hub.metric("queued_bytes") < 1_000_000) await publisher.say({ type: "n", payload });
  const began = performance.now();
  hub.running.signal("SIGTERM");
  assert.equal((await hub.running.status).code, 0);
  assert(performance.now() - began < 5000, "it ends within 5 s");
});

Deno.test("it says where it listens, and why it cannot", async () => {
  await using hub = await HubProcess.start();
  assert.match(hub.url, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  await using ipv6 = await HubProcess.start("-l", "[::1]:0");
  assert.match(ipv6.url, /^http:\/\/\[::1\]:[1-9]\d*$/);
  assert.equal(await (await fetch(`${ipv6.url}/healthz`)).text(), "ok\n");
  const nowhere = await ollie(["hub", "--listen", "0", "unix:/nothing/here"]);
  assert.deepEqual([nowhere.code, nowhere.stderr], [
    1,
    "ollie hub: cannot connect to unix:/nothing/here: no such file or directory\n",
  ]);
  using directory = temporaryDirectory();
  Deno.writeTextFileSync(`${directory.path}/file`, "");
  const noDirectory = await ollie(["hub", "--listen", "0", `${directory.path}/file`]);
  assert.equal(noDirectory.code, 1);
  assert.match(noDirectory.stderr, /^ollie hub: cannot subscribe to \S+: .*[a-z]\n$/);
});

Deno.test("a wrong command line is explained", async () => {
  for (
    const [args, message] of [
      [["a", "b"], 'unexpected argument "b"'],
      [["8080"], "to listen on port 8080, say --listen 8080 (a directory that is called so is ./8080)"],
      [
        ["--listen", "localhost"],
        "--listen takes HOST:PORT or PORT, such as 8080, 0.0.0.0:8080 (every address) or [::1]:8080, and a port is at most " +
        '65535; not "localhost"',
      ],
      [
        ["--listen", "localhost:65536"],
        "--listen takes HOST:PORT or PORT, such as 8080, 0.0.0.0:8080 (every address) or [::1]:8080, and a port is at most " +
        '65535; not "localhost:65536"',
      ],
      [
        ["--listen", "::1:8080"],
        "--listen takes HOST:PORT or PORT, such as 8080, 0.0.0.0:8080 (every address) or [::1]:8080, and a port is at most " +
        '65535; not "::1:8080"',
      ],
      [["--max-buffer", "0"], "--max-buffer takes a number of bytes"],
      [["--max-message", "1X"], "--max-message takes a number of bytes"],
      [["--max-connections", "0"], "--max-connections takes a whole number from 1"],
      [["--max-subscriptions", "many"], "--max-subscriptions takes a whole number from 1"],
      [["--lisen", "0"], "did you mean --listen?"],
    ] as const
  ) {
    const { code, stderr } = await ollie(["hub", ...args]);
    assert.equal(code, 2, stderr);
    assert(stderr.includes(message), stderr);
  }
  const { code, stdout } = await ollie(["hub", "--help"]);
  assert.equal(code, 0);
  assert.match(stdout, /ollie hub \/tmp\/a/);
});

Deno.test("there are no more connections than may be, sockets and streams, and one that ends makes room", async () => {
  await using hub = await HubProcess.start("--max-connections", "2");
  using first = await RawWebSocket.connect(hub.port);
  const second = await EventStream.open(`${hub.url}/sub/color`);
  const full = /^(HTTP\/1\.1 )?503.*: there are 2 connections, as many as may be$/;
  await assert.rejects(RawWebSocket.connect(hub.port), { message: full });
  await assert.rejects(EventStream.open(`${hub.url}/sub/color`), { message: full });
  const response = await fetch(`${hub.url}/sub/color`);
  assert.equal(response.headers.get("retry-after"), "5");
  await response.body?.cancel();
  // Who does not stay is no connection.
  assert.equal(
    (await fetch(`${hub.url}/pub/color`, { method: "POST", body: "red" }).then((r) => r.text())).length > 0,
    true,
  );
  await second[Symbol.asyncDispose]();
  await hub.untilMetric("streams", 0);
  const third = await RawWebSocket.connect(hub.port);
  await third.send({ opcode: OPCODE.close });
  await third.ending();
  third[Symbol.dispose]();
  await hub.untilMetric("sockets", 1);
  using fourth = await RawWebSocket.connect(hub.port);
  await fourth.subscribe("color");
  await first.subscribe("color");
});

Deno.test("a bus directory that is removed and comes back is served on", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/bus`;
  await using hub = await HubProcess.start(path);
  using peer = await RawWebSocket.connect(hub.port);
  await peer.subscribe("n");
  const heard: number[] = [];
  for (let round = 0; round < 3; round++) {
    await shell(`ollie pub -d ${round} ${path} n`);
    heard.push((await peer.hear()).payload);
    Deno.removeSync(path, { recursive: true });
  }
  // By way of the hub, it is made anew.
  await peer.say({ type: "n", payload: 3, ref: 1 });
  heard.push(...(await peer.take(2)).filter(({ type }) => type === "n").map(({ payload }) => payload));
  await shell(`ollie pub -d 4 ${path} n`);
  heard.push((await peer.hear()).payload);
  assert.deepEqual(heard, [0, 1, 2, 3, 4]);
  assert.deepEqual(await peer.settled(), []);
});

Deno.test("a bus that another server has: when it ends the clients are told, and so is who comes while it is away", async () => {
  using directory = temporaryDirectory();
  const [bus, socket] = [`${directory.path}/bus`, `unix:${directory.path}/s`];
  const first = await startServer("--listen", socket, bus);
  await using hub = await HubProcess.start(socket);
  using before = await RawWebSocket.connect(hub.port);
  await before.subscribe("n");
  await first.running[Symbol.asyncDispose]();
  assert.deepEqual(await before.ending(), {
    code: 1013,
    reason: "the hub may have missed events of its bus: connect again, and resume",
  });
  using meanwhile = await RawWebSocket.connect(hub.port);
  assert.deepEqual(await meanwhile.ending(), {
    code: 1013,
    reason: "the hub cannot reach its bus: connect again later",
  });
  await using _second = (await startServer("--listen", socket, bus)).running;
  let after: RawWebSocket | undefined;
  await until("the hub's return", async () => {
    const peer = await RawWebSocket.connect(hub.port);
    try {
      await peer.subscribe("n");
      after = peer;
      return true;
    } catch {
      peer[Symbol.dispose]();
      return false;
    }
  });
  assert(after);
  using _after = after;
  await shell(`ollie pub -d 1 ${bus} n`);
  assert.equal((await after.hear()).payload, 1);
});

Deno.test("--verbose says who comes and goes, and who may not; and a name cannot write what it likes", async () => {
  using directory = temporaryDirectory();
  Deno.writeTextFileSync(`${directory.path}/tokens`, "t al\x1b[31mice");
  await using hub = await HubProcess.start("-v", "--tokens", `${directory.path}/tokens`);
  {
    using _ = await RawWebSocket.connect(hub.port, { protocols: ["ollie.token.t"] });
    assert.equal(await hub.running.stderr.next(), 'ollie hub: connection 1 ("al\\u001b[31mice") has come');
  }
  assert.equal(await hub.running.stderr.next(), 'ollie hub: connection 1 ("al\\u001b[31mice") has gone');
  // A browser keeps from its user why a page was refused.
  const response = await fetch(`${hub.url}/healthz`, { headers: { origin: "http://localhost:3000" } });
  assert.equal(response.status, 403);
  assert.equal(await hub.running.stderr.next(), `ollie hub: refused a request: ${(await response.text()).trim()}`);
});

Deno.test("it may do no more than it must, once it listens", async () => {
  using directory = temporaryDirectory();
  await using hub = await HubProcess.start(directory.path);
  using peer = await RawWebSocket.connect(hub.port);
  // Whoever comes later is let in all the same.
  await peer.subscribe("color");
  const { code } = await shell(`curl -sf -o ${directory.path}/page ${hub.url}/`);
  assert.equal(code, 0);
  await using reader = new Running([...OLLIE, "sub", "-m", "-c", "1", directory.path]);
  let line: string | undefined;
  const reading = reader.stdout.next().then((next) => line = next);
  await until("an event", async () => {
    await (await fetch(`${hub.url}/pub/color`, { method: "POST", body: "red\n" })).text();
    return line !== undefined;
  });
  assert.equal(await reading, "red");
});

Deno.test("requests on a connection that is kept open are answered in turn", async () => {
  await using hub = await HubProcess.start();
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: hub.port });
  const reader = new BytesReader(connection);
  const host = `Host: localhost:${hub.port}`;
  const request = (line: string, ...more: string[]) => [line, host, ...more, "", ""].join("\r\n");
  await writeAll(
    connection,
    new TextEncoder().encode([
      request("GET /healthz HTTP/1.1"),
      `${request("POST /pub/color HTTP/1.1", "Content-Length: 3")}red`,
      request("GET /nothing HTTP/1.1"),
      request("GET /healthz HTTP/1.1"),
    ].join("")),
  );
  const statuses = [];
  for (let i = 0; i < 4; i++) {
    const head = await reader.takeUntil("\r\n\r\n") ?? "";
    statuses.push(Number(head.split(" ")[1]));
    await reader.take(Number(/^content-length: (\d+)/mi.exec(head)?.[1]));
  }
  assert.deepEqual(statuses, [200, 201, 404, 200]);
});
