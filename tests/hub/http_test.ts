/** The hub's HTTP, by `fetch`, by `curl`, and by bytes where neither would do. */
import assert from "node:assert/strict";
import { DirectoryBus } from "../../mod.ts";
import { has, Running } from "../cli/ollie.ts";
import { temporaryDirectory } from "../temporary.ts";
import { BytesReader, writeAll } from "./bytes_reader.ts";
import { EventStream } from "./event_stream.ts";
import { HubProcess } from "./hub_process.ts";
import { RawWebSocket } from "./raw_websocket.ts";

/** What was answered: the status, a few headers, the body. */
async function ask(url: string, init?: RequestInit): Promise<{ status: number; headers: Headers; body: string }> {
  const response = await fetch(url, init);
  return { status: response.status, headers: response.headers, body: await response.text() };
}

/** The answer to a request that is written by hand. It has to ask for the connection to be closed. */
async function askRaw(port: number, lines: readonly string[], body = ""): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await writeAll(
    connection,
    new TextEncoder().encode(`${[...lines, "Connection: close"].join("\r\n")}\r\n\r\n${body}`),
  );
  return new TextDecoder().decode(await new BytesReader(connection).rest());
}

Deno.test("POST publishes the body, to the byte, and says where it is on the bus", async () => {
  using directory = temporaryDirectory();
  await using hub = await HubProcess.start(directory.path);
  const payloads = ["", "red", "red\n", "a=1&b=2", '{"a":1}', Uint8Array.from({ length: 256 }, (_, i) => i)];
  for (const body of payloads) {
    const { status, headers, body: answer } = await ask(`${hub.url}/pub/color`, { method: "POST", body });
    assert.equal(status, 201);
    assert.equal(headers.get("content-type"), "application/json");
    const { id, time, ...more } = JSON.parse(answer);
    assert.deepEqual(more, {});
    assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
    const stored = Deno.readFileSync(`${directory.path}/events/${id}`);
    assert.deepEqual(stored, typeof body === "string" ? new TextEncoder().encode(body) : body);
  }
  // A body whose length nobody said.
  const chunked = new ReadableStream({
    start(controller) {
      for (const piece of ["r", "e", "d"]) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });
  const { body } = await ask(`${hub.url}/pub/color`, { method: "POST", body: chunked });
  assert.equal(Deno.readTextFileSync(`${directory.path}/events/${JSON.parse(body).id}`), "red");
  assert.equal(await hub.metric("events_published_total"), payloads.length + 1);
});

Deno.test("a topic and a filter may be written in percent-encoding", async () => {
  await using hub = await HubProcess.start();
  using peer = await RawWebSocket.connect(hub.port);
  await peer.subscribe(">");
  for (
    const [path, topic] of [
      ["message.sent:conv-1", "message.sent:conv-1"],
      ["message%2Esent%3Aconv-1", "message.sent:conv-1"],
      ["a%2Fb", "a/b"],
      ["a/b", "a/b"],
      ["%C3%A9", "é"],
      ["é", "é"],
      ["100%25", "100%"],
      ["a+b", "a+b"],
      ["what%3Fis%23this", "what?is#this"],
    ]
  ) {
    await using stream = await EventStream.open(`${hub.url}/sub/${path}`);
    assert.equal((await ask(`${hub.url}/pub/${path}?ignored=1`, { method: "POST", body: "1" })).status, 201, path);
    const { type, id } = await peer.hear();
    assert.equal(id === "" ? type : `${type}:${id}`, topic, path);
    assert.deepEqual(JSON.parse((await stream.event()).data), { type, id, payload: 1 });
  }
  for (const filter of ["%3E", ">", "*", "%2A", "n.*", "n.%2a", "n.>"]) {
    await using stream = await EventStream.open(`${hub.url}/sub/${filter}`);
    await ask(`${hub.url}/pub/n.x`, { method: "POST", body: "1" });
    assert.equal(JSON.parse((await stream.event()).data).type, "n.x", filter);
  }
});

Deno.test("what cannot be done is answered with the status that fits, and one line", async () => {
  await using hub = await HubProcess.start("--max-message", "100");
  for (
    const [method, path, status, line, headers] of [
      ["POST", "/pub/a..b", 400, /^the topic "a\.\.b" has an empty segment/],
      ["POST", "/pub/", 400, /^the topic "" is empty/],
      ["POST", "/pub/two%20words", 400, /^the topic "two words" holds white space/],
      ["POST", "/pub/a%0Ab", 400, /^the topic "a\\nb" holds white space/],
      ["POST", "/pub/%1b[31m", 400, /^the topic "\\u001b\[31m" holds a control character/],
      ["POST", "/pub/__ping", 400, /^the topic "__ping" starts with "__"/],
      ["POST", "/pub/%ff", 400, /^the path is not UTF-8 in percent-encoding$/],
      ["POST", `/pub/${"x".repeat(201)}`, 400, /at most 200$/],
      ["GET", "/pub/color", 405, /^this takes POST, not GET$/, { allow: "POST" }],
      ["PUT", "/pub/color", 405, /^this takes POST, not PUT$/, { allow: "POST" }],
      ["HEAD", "/pub/color", 405, /^$/, { allow: "POST" }],
      ["GET", "/sub/a.>.b", 400, /^the filter "a\.>\.b" has > before its end/],
      ["GET", "/sub/", 400, /^the filter "" is empty/],
      ["GET", "/sub/%ff", 400, /^the path is not UTF-8/],
      ["GET", "/sub/color?replay=-1", 400, /^"replay" takes "all", or a number of events$/],
      ["GET", "/sub/color?replay=some", 400, /^"replay" takes "all", or a number of events$/],
      ["GET", "/sub/color?replay=all&after=1", 400, /^after= and replay= both say where to begin/],
      ["GET", "/sub/color?replay=all", 400, /^a mem: bus keeps no events/],
      ["GET", "/sub/color?after=1", 400, /^a mem: bus keeps no events/],
      ["POST", "/sub/color", 405, /^this takes GET, not POST$/, { allow: "GET, HEAD" }],
      ["POST", "/metrics", 405, /^this takes GET, not POST$/, { allow: "GET, HEAD" }],
      ["DELETE", "/healthz", 405, /^this takes GET, not DELETE$/, { allow: "GET, HEAD" }],
      ["POST", "/", 405, /^this takes GET, not POST$/, { allow: "GET, HEAD" }],
      ["GET", "/nothing", 404, /^there is no \/nothing here: there are \/, \/pub\/TOPIC, \/sub\/FILTER/],
      ["GET", "/pub", 404, /^there is no \/pub here/],
      ["GET", "/healthz/", 404, /^there is no \/healthz\/ here/],
      ["GET", "/page/..%2f..%2fserver.ts", 404, /^there is no /],
      ["GET", "/page/%2e%2e/server.ts", 404, /^there is no /],
      ["GET", "/<script>", 404, /^there is no \/%3Cscript%3E here/],
    ] as const
  ) {
    const answer = await ask(`${hub.url}${path}`, { method });
    const said = `${method} ${path}: ${answer.status} ${answer.body}`;
    assert.equal(answer.status, status, said);
    assert.match(answer.body.replace(/\n$/, ""), line, said);
    assert.equal(answer.headers.get("content-type"), "text/plain; charset=utf-8", said);
    for (const [name, value] of Object.entries(headers ?? {})) assert.equal(answer.headers.get(name), value, said);
  }
  assert.equal(await hub.metric("streams"), 0);
  hub.running.signal("SIGTERM");
  assert.deepEqual(await hub.running.stderr.rest(), []);
});

Deno.test("a body that is too large is refused, whether its length is said or not", async () => {
  await using hub = await HubProcess.start("--max-message", "100");
  const url = `${hub.url}/pub/n`;
  const body = (size: number) => new Uint8Array(size);
  const chunked = (size: number) => new Blob([body(size)]).stream();
  assert.equal((await ask(url, { method: "POST", body: body(100) })).status, 201);
  assert.equal((await ask(url, { method: "POST", body: chunked(100) })).status, 201);
  const refusal = "this is too large: 100 bytes are allowed\n";
  for (const tooLarge of [body(101), chunked(101)]) {
    const { status, body } = await ask(url, { method: "POST", body: tooLarge });
    assert.deepEqual([status, body], [413, refusal]);
  }
  for (const tooLarge of [body(10_000_000), chunked(10_000_000)]) {
    // The answer may come, and the connection end, before all has been sent: some clients then tell of the latter only.
    const answer = await ask(url, { method: "POST", body: tooLarge }).catch(() => undefined);
    if (answer !== undefined) assert.deepEqual([answer.status, answer.body], [413, refusal]);
  }
  // It need not be sent for that.
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: hub.port });
  const head = `POST /pub/n HTTP/1.1\r\nHost: 127.0.0.1:${hub.port}\r\nContent-Length: 101\r\n\r\n`;
  await writeAll(connection, new TextEncoder().encode(head));
  assert.match(await new BytesReader(connection).takeUntil("\r\n\r\n") ?? "", /^HTTP\/1\.1 413 /);
  assert.equal(await hub.metric("events_published_total"), 2);
});

Deno.test("HEAD is answered as GET, without a body, and leaves nothing open", async () => {
  await using hub = await HubProcess.start();
  for (const path of ["/", "/healthz", "/metrics"]) {
    const { status, headers, body } = await ask(`${hub.url}${path}`, { method: "HEAD" });
    const get = await ask(`${hub.url}${path}`);
    assert.deepEqual([status, body], [200, ""], path);
    assert.equal(headers.get("content-type"), get.headers.get("content-type"), path);
  }
  const { status, headers, body } = await ask(`${hub.url}/sub/%3E`, { method: "HEAD" });
  assert.deepEqual([status, headers.get("content-type"), body], [200, "text/event-stream", ""]);
  await hub.untilMetric("streams", 0);
});

Deno.test("/healthz says ok, and requests that hold what they should not are answered, and not logged", async () => {
  await using hub = await HubProcess.start();
  const { status, headers, body } = await ask(`${hub.url}/healthz`);
  assert.deepEqual([status, headers.get("content-type"), body], [200, "text/plain; charset=utf-8", "ok\n"]);
  const host = `Host: 127.0.0.1:${hub.port}`;
  for (
    const [lines, answer] of [
      [["GET /healthz HTTP/1.1", "Host: two words"], /^HTTP\/1\.1 400 /],
      [["GET /healthz HTTP/1.1", "Host: %zz"], /^HTTP\/1\.1 400 /],
      [["GET /healthz HTTP/1.0"], /^HTTP\/1\.0 200 .*\r\nok\n$/s],
      [["TRACE / HTTP/1.1", host], /^HTTP\/1\.1 405 /],
      [["CONNECT elsewhere:80 HTTP/1.1", host], /^HTTP\/1\.1 40\d /],
      [["GET /sub/color\x1b HTTP/1.1", host], /^HTTP\/1\.1 400 /],
      [["nonsense"], /^HTTP\/1\.1 400 /],
      [["GET /healthz HTTP/1.1", host, "Last-Event-ID: \xff\xfe"], /^HTTP\/1\.1 200 /],
    ] as const
  ) {
    assert.match(await askRaw(hub.port, lines), answer, lines.join(" | "));
  }
  hub.running.signal("SIGTERM");
  assert.deepEqual(await hub.running.stderr.rest(), []);
});

/** Reads Prometheus' text format as its documentation has it. Anything that breaks a rule is an error. */
function parseMetrics(text: string): Map<string, { type: string; help: string; value: number }> {
  assert(text.endsWith("\n"), "the last line ends with a newline, too");
  const found = new Map<string, { type: string; help: string; value: number }>();
  let help: [name: string, text: string] | undefined;
  let type: [name: string, text: string] | undefined;
  for (const line of text.slice(0, -1).split("\n")) {
    let match;
    if ((match = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line)) !== null) {
      assert(!found.has(match[1]), `${match[1]} is there twice`);
      help = [match[1], match[2]];
    } else if ((match = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)$/.exec(line)) !== null) {
      assert.equal(match[1], help?.[0], "TYPE is about what HELP is about");
      type = [match[1], match[2]];
    } else {
      const [, name, digits] = /^([a-zA-Z_:][a-zA-Z0-9_:]*) (\d+(?:\.\d+)?)$/.exec(line) ?? assert.fail(line);
      assert.equal(name, type?.[0], "a value is about what TYPE is about");
      // The conventions: a counter says so, and a unit is a base unit.
      assert.equal(name.endsWith("_total"), type?.[1] === "counter", name);
      assert.match(name, /^ollie_/);
      found.set(name, { type: type?.[1] ?? "", help: help?.[1] ?? "", value: Number(digits) });
    }
  }
  return found;
}

Deno.test("/metrics is Prometheus' text, and right after traffic that is known", async () => {
  await using hub = await HubProcess.start();
  const values = async () => {
    const { headers, body } = await ask(`${hub.url}/metrics`);
    assert.equal(headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    return Object.fromEntries([...parseMetrics(body)].map(([name, { value }]) => [name.replace("ollie_", ""), value]));
  };
  const nothing = {
    connections: 0,
    sockets: 0,
    streams: 0,
    subscriptions: 0,
    events_published_total: 0,
    received_bytes_total: 0,
    events_delivered_total: 0,
    delivered_bytes_total: 0,
    slow_consumers_total: 0,
    errors_total: 0,
    queued_bytes: 0,
    queued_bytes_max: 0,
  };
  assert.deepEqual(await values(), nothing);

  using one = await RawWebSocket.connect(hub.port);
  using two = await RawWebSocket.connect(hub.port);
  await using stream = await EventStream.open(`${hub.url}/sub/color`);
  const sent = [
    '{"type":"__subscribe","payload":{"topic":["color","number"]}}',
    '{"type":"color","payload":"é"}',
    '{"type":"nobody.wants.this","payload":1}',
    "not JSON",
  ];
  await two.send({ opcode: 1, payload: '{"type":"__subscribe","payload":{"topic":">"}}' });
  for (const payload of sent) await one.send({ opcode: 1, payload });
  assert.deepEqual((await one.take(2)).map(({ type }) => type), ["color", "__error"]);
  assert.deepEqual((await two.take(2)).map(({ type }) => type), ["color", "nobody.wants.this"]);
  await ask(`${hub.url}/pub/number`, { method: "POST", body: "5" });
  await one.hear();
  await two.hear();
  await stream.event();
  const bytes = (texts: readonly string[]) =>
    texts.reduce((sum, text) => sum + new TextEncoder().encode(text).length, 0);
  const color = '{"type":"color","id":"","payload":"é"}';
  const number = '{"type":"number","id":"","payload":5}';
  assert.deepEqual(await values(), {
    ...nothing,
    connections: 2,
    sockets: 2,
    streams: 1,
    subscriptions: 3,
    events_published_total: 3,
    received_bytes_total: bytes([...sent, '{"type":"__subscribe","payload":{"topic":">"}}']),
    events_delivered_total: 5,
    delivered_bytes_total: bytes([color, color, number, number, '{"type":"nobody.wants.this","id":"","payload":1}']),
    errors_total: 1,
  });
  one[Symbol.dispose]();
  await hub.untilMetric("connections", 1);
  assert.equal((await values()).subscriptions, 1);
});

Deno.test("a stream has an id in each event, and resumes after the one that its client names", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.push((await bus.publish("n", String(i))).id);
  await using hub = await HubProcess.start(directory.path);
  const payloads = async (path: string, count: number, headers?: Record<string, string>) => {
    await using stream = await EventStream.open(`${hub.url}${path}`, headers);
    const heard = [];
    for (let i = 0; i < count; i++) {
      const { data, id, event } = await stream.event();
      assert.equal(event, "message");
      const envelope = JSON.parse(data);
      assert.deepEqual(envelope, { type: "n", id: "", payload: envelope.payload });
      assert.equal(id, ids[envelope.payload]);
      heard.push(envelope.payload);
    }
    return heard;
  };
  assert.deepEqual(await payloads("/sub/n?replay=all", 5), [0, 1, 2, 3, 4]);
  assert.deepEqual(await payloads("/sub/n?replay=2", 2), [3, 4]);
  assert.deepEqual(await payloads(`/sub/n?after=${encodeURIComponent(ids[1])}`, 3), [2, 3, 4]);
  assert.deepEqual(await payloads("/sub/n", 2, { "Last-Event-ID": ids[2] }), [3, 4]);
  // What has been heard since the page was loaded is newer than what its address says.
  assert.deepEqual(await payloads("/sub/n?replay=all", 1, { "Last-Event-ID": ids[3] }), [4]);

  // Whoever has heard nothing yet has a place to come back to all the same.
  await using first = await EventStream.open(`${hub.url}/sub/n`);
  assert.equal(first.lastId, ids[4]);
  ids.push((await bus.publish("n", "5")).id);
  assert.deepEqual(await payloads("/sub/n", 1, { "Last-Event-ID": first.lastId }), [5]);
  const { headers } = first.response;
  assert.deepEqual(
    [headers.get("content-type"), headers.get("cache-control")],
    ["text/event-stream", "no-store"],
  );

  // An id with letters beyond ASCII comes as its bytes of UTF-8.
  const accented = (await bus.publish("é", "6")).id;
  await bus.publish("é", "7");
  const latin1 = String.fromCharCode(...new TextEncoder().encode(accented));
  await using stream = await EventStream.open(`${hub.url}/sub/%C3%A9`, { "Last-Event-ID": latin1 });
  assert.equal(JSON.parse((await stream.event()).data).payload, 7);
  assert.match(stream.lastId, /_é$/);
});

Deno.test("a client that comes back to a hub which keeps nothing, or knows no such id, is told, and hears what follows", async () => {
  using directory = temporaryDirectory();
  for (
    const [bus, reason] of [["mem:", /events may have been missed: .*keeps no events/], [
      directory.path,
      /events may have been missed: "7" is not the id of an event/,
    ]] as const
  ) {
    await using hub = await HubProcess.start(bus);
    await using stream = await EventStream.open(`${hub.url}/sub/color`, { "Last-Event-ID": "7" });
    const { event, data } = await stream.event();
    assert.equal(event, "__error");
    assert.match(JSON.parse(data).reason, reason);
    await ask(`${hub.url}/pub/color`, { method: "POST", body: "red" });
    const { event: kind, data: envelope } = await stream.event();
    assert.deepEqual([kind, JSON.parse(envelope)], ["message", { type: "color", id: "", payload: "red" }]);
  }
});

Deno.test("a stream begins with how soon to come back, and what is in an event breaks no line", async () => {
  await using hub = await HubProcess.start();
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: hub.port });
  await writeAll(
    connection,
    new TextEncoder().encode(
      `GET /sub/%3E HTTP/1.1\r\nHost: 127.0.0.1:${hub.port}\r\nAccept: text/event-stream\r\n\r\n`,
    ),
  );
  const reader = new BytesReader(connection);
  assert.match(await reader.takeUntil("\r\n\r\n") ?? "", /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(await reader.takeUntil("\n\n") ?? "", /retry: \d+/);
  await ask(`${hub.url}/pub/n`, { method: "POST", body: "a\nb\r\ndata: c\n\nevent: d\u2028\u0085" });
  const lines = (await reader.takeUntil("\n\n") ?? "").split("\n");
  const data = lines.filter((line) => line.startsWith("data: "));
  assert.equal(data.length, 1);
  assert.deepEqual(JSON.parse(data[0].slice("data: ".length)), {
    type: "n",
    id: "",
    payload: "a\nb\r\ndata: c\n\nevent: d\u2028\u0085",
  });
});

Deno.test({
  name: "curl publishes and follows",
  ignore: !has("curl"),
  fn: async () => {
    await using hub = await HubProcess.start();
    await using follower = new Running(["curl", "-sN", `${hub.url}/sub/color`]);
    // The first lines come once the stream has begun.
    while (await follower.stdout.next() !== "");
    await using publisher = new Running(["curl", "-si", "-d", "red", `${hub.url}/pub/color`]);
    assert.equal(await publisher.stdout.next(), "HTTP/1.1 201 Created\r");
    for (let line; !(line = await follower.stdout.next())?.startsWith("data: ");) assert(line !== undefined);
    await using next = new Running(["curl", "-s", "--data-binary", "@-", `${hub.url}/pub/color`]);
    await next.write("blue\n");
    await next.closeInput();
    assert.match(await next.stdout.next() ?? "", /^\{"id":"2","time":"[^"]+"\}$/);
    let line;
    while (!(line = await follower.stdout.next())?.startsWith("data: ")) assert(line !== undefined);
    assert.equal(line, 'data: {"type":"color","id":"","payload":"blue\\n"}');
    follower.signal("SIGTERM");
    await follower.status;
    await hub.untilMetric("streams", 0);
  },
});
