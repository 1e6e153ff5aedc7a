/** Who may talk to a hub, and do what: tokens, pages of other sites, names that lead to this machine, TLS. */
import assert from "node:assert/strict";
import { DirectoryBus } from "../../mod.ts";
import { has, ollie } from "../cli/ollie.ts";
import { within } from "../deadline.ts";
import { temporaryDirectory } from "../temporary.ts";
import { BytesReader, writeAll } from "./bytes_reader.ts";
import { EventStream } from "./event_stream.ts";
import { HubProcess } from "./hub_process.ts";
import { RawWebSocket } from "./raw_websocket.ts";

const TOKENS = `# who may do what

all-1 alice
  pub.2   bob  pub=color pub=session.*.state\tsub=color
sub~3 carol sub=session.> sub=message.sent:*
pub~4 dave pub=>
`;

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

/** The status of an answer, and its body. */
async function ask(url: string, init?: RequestInit): Promise<[status: number, body: string]> {
  const response = await fetch(url, init);
  return [response.status, await response.text()];
}

/** The status of a request that names another Host or Origin than `fetch` would. */
async function statusOf(port: number, headers: Record<string, string>, request = "GET /healthz"): Promise<number> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  await writeAll(connection, new TextEncoder().encode(`${request} HTTP/1.1\r\n${lines.join("")}\r\n`));
  return Number((await new BytesReader(connection).takeUntil("\r\n"))?.split(" ")[1]);
}

/** What a handshake is answered: 101, or another status. */
async function handshakeStatus(port: number, headers: Record<string, string>): Promise<number> {
  try {
    using _ = await RawWebSocket.connect(port, { headers });
    return 101;
  } catch (error) {
    return Number(/^HTTP\/1\.1 (\d+)/.exec((error as Error).message)?.[1]);
  }
}

Deno.test("a wrong file of tokens is refused, with the line and the reason", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/tokens`;
  for (
    const [text, reason] of [
      ["", "there is no token in it: a line is TOKEN NAME [pub=FILTER] [sub=FILTER]..."],
      ["# nothing\n\n", "there is no token in it: a line is TOKEN NAME [pub=FILTER] [sub=FILTER]..."],
      ["a alice\n\nb", "line 3: after the token comes a name: TOKEN NAME [pub=FILTER] [sub=FILTER]..."],
      ["a pub=color", "line 1: after the token comes a name: TOKEN NAME [pub=FILTER] [sub=FILTER]..."],
      ["a/b alice", "line 1: a token is made of letters, digits and -._~!#$%&'*+^`|"],
      ["é alice", "line 1: a token is made of letters, digits and -._~!#$%&'*+^`|"],
      ["a alice.b", 'line 1: the name "alice.b" holds one of .:*> and could be no id'],
      ["a *", 'line 1: the name "*" holds one of .:*> and could be no id'],
      ["a alice\r\n# between\r\na bob", "line 3: this token is there twice"],
      ["a alice read=color", 'line 1: "read=color" is neither pub=FILTER nor sub=FILTER'],
      ["a alice color", 'line 1: "color" is neither pub=FILTER nor sub=FILTER'],
      ["a alice pub=", 'line 1: the filter "" is empty: to match every event, use >'],
      [
        "a alice sub=a.>.b",
        'line 1: the filter "a.>.b" has > before its end: > stands last; to match any one segment, use *',
      ],
      ["a alice pub=a..b", 'line 1: the filter "a..b" has an empty segment: to match any one segment there, use *'],
    ]
  ) {
    Deno.writeTextFileSync(path, text);
    const { code, stderr } = await ollie(["hub", "--listen", "0", "--tokens", path]);
    assert.deepEqual([code, stderr], [1, `ollie hub: --tokens ${path}: ${reason}\n`]);
  }
  const { code, stderr } = await ollie(["hub", "--listen", "0", "--tokens", `${path}.none`]);
  assert.deepEqual([code, stderr], [1, `ollie hub: cannot read --tokens ${path}.none: no such file or directory\n`]);
});

/** A hub with {@linkcode TOKENS}. */
async function hubWithTokens(directory: string, ...args: readonly string[]): Promise<HubProcess> {
  Deno.writeTextFileSync(`${directory}/tokens`, TOKENS);
  return await HubProcess.start("--tokens", `${directory}/tokens`, ...args);
}

Deno.test("a token is shown as Bearer, or as a subprotocol; a wrong one, and none, get 401", async () => {
  using directory = temporaryDirectory();
  await using hub = await hubWithTokens(directory.path);
  const needed = "this hub asks for a token\n";
  const unknown = "this hub does not know that token\n";
  for (const path of ["/pub/color", "/sub/color", "/metrics"]) {
    const method = path.startsWith("/pub") ? "POST" : "GET";
    assert.deepEqual(await ask(hub.url + path, { method }), [401, needed]);
    for (const token of ["all-2", "all-1x", "all-", "ALL-1", "alice", "#"]) {
      assert.deepEqual(await ask(hub.url + path, { method, headers: bearer(token) }), [401, unknown]);
    }
    assert.deepEqual(await ask(hub.url + path, { method, headers: { Authorization: "Basic all-1" } }), [401, needed]);
    const response = await fetch(hub.url + path, { method });
    assert.equal(response.headers.get("www-authenticate"), "Bearer");
    await response.body?.cancel();
  }
  // These tell nothing.
  assert.equal((await ask(`${hub.url}/healthz`))[0], 200);
  assert.equal((await ask(`${hub.url}/`))[0], 200);

  assert.equal((await ask(`${hub.url}/pub/color`, { method: "POST", headers: bearer("all-1") }))[0], 201);
  assert.equal((await ask(`${hub.url}/metrics`, { headers: { authorization: "bearer all-1" } }))[0], 200);
  const connect = (headers: Record<string, string>, ...protocols: string[]) =>
    RawWebSocket.connect(hub.port, { headers, protocols });
  for (const protocols of [[], ["ollie.token.all-2"], ["ollie.token."], ["all-1"], ["ollie.v1"]]) {
    await assert.rejects(connect({}, ...protocols), { message: /^HTTP\/1\.1 401 / }, protocols.join());
  }
  await assert.rejects(connect(bearer("wrong"), "ollie.token.all-1"), { message: /^HTTP\/1\.1 401 / });
  for (
    const [headers, protocols, picked] of [
      [bearer("all-1"), [], undefined],
      [{}, ["ollie.v1", "ollie.token.all-1"], "ollie.v1"],
      [{}, ["ollie.token.all-1", "ollie.batch.v1"], "ollie.batch.v1"],
      [{}, ["ollie.token.all-1"], "ollie.token.all-1"],
    ] as const
  ) {
    using peer = await connect(headers, ...protocols);
    assert.equal(peer.protocol, picked);
    await peer.subscribe("color");
  }
  assert.equal(await statusOf(hub.port, { Host: "localhost", Authorization: "Bearer all-1" }, "GET /metrics"), 200);
});

Deno.test("what a token does not allow is refused, and what it allows is not", async () => {
  using directory = temporaryDirectory();
  await using hub = await hubWithTokens(directory.path);
  const cases = {
    // Whoever has neither pub= nor sub= may do everything.
    "all-1": { pub: ["color", "session.a", "direct:bob"], noPub: [], sub: ["color", ">", "*", "a.*"], noSub: [] },
    "pub.2": {
      pub: ["color", "session.a.state"],
      noPub: ["number", "session.a", "session.a.b.state", "color.red"],
      sub: ["color"],
      noSub: ["number", "*", ">", "color.>", "colo*"],
    },
    "sub~3": {
      pub: [],
      noPub: ["color", "session.a"],
      sub: ["session.>", "session.*", "session.a.*.b", "message.sent:*", "message.sent:conv-1"],
      noSub: [">", "*", "session", "message.sent", "message.seen:conv-1", "message.>", "message.*", "*.a"],
    },
    "pub~4": { pub: ["color", "direct:alice"], noPub: [], sub: [], noSub: ["color", ">"] },
  };
  for (const [token, { pub, noPub, sub, noSub }] of Object.entries(cases)) {
    using peer = await RawWebSocket.connect(hub.port, { headers: bearer(token) });
    const post = (topic: string) => ask(`${hub.url}/pub/${topic}`, { method: "POST", headers: bearer(token) });
    for (const type of pub) {
      await peer.say({ type, payload: 1, ref: type });
      assert.deepEqual((await peer.hear()).payload.ref, type, `${token} ${type}`);
      assert.equal((await post(type))[0], 201);
    }
    for (const type of noPub) {
      await peer.say({ type, payload: 1, ref: type });
      const { payload } = await peer.hear();
      assert.match(payload.reason, new RegExp(`^\\w+ may not publish "${type}"$`));
      assert.deepEqual([payload.topic, payload.ref], [type, type]);
      assert.deepEqual(await post(type), [403, `${payload.reason}\n`]);
    }
    // The filters that are refused come first: nothing may come in between that the allowed ones let through.
    for (const topic of noSub) {
      for (const asked of [{ topic }, { topic: [...sub, topic] }, { topic, replay: 0 }, { topic, after: "1" }]) {
        await peer.say({ type: "__subscribe", payload: asked });
        const { type, payload } = await peer.hear();
        assert.deepEqual([type, payload.topic], ["__error", topic], `${token} ${topic}`);
        assert(payload.reason.endsWith(`may not subscribe to ${JSON.stringify(topic)}`), payload.reason);
      }
      const [status, body] = await ask(`${hub.url}/sub/${topic}`, { headers: bearer(token) });
      assert.deepEqual([status, body.endsWith(`may not subscribe to ${JSON.stringify(topic)}\n`)], [403, true]);
    }
    await peer.subscribe(...sub);
    for (const topic of sub) {
      await using _ = await EventStream.open(`${hub.url}/sub/${topic}`, bearer(token));
    }
  }
});

Deno.test("direct:NAME reaches NAME alone: not by >, not from the past, not by a stream", async () => {
  using directory = temporaryDirectory();
  const bus = `${directory.path}/bus`;
  await using hub = await hubWithTokens(directory.path, bus);
  await using carrier = new DirectoryBus(bus);
  await carrier.publish("direct:bob", "old");
  const messages = ["direct:alice", "direct:bob", "direct:bob.more", "direct", "direct:", "direct.bob", "color"];

  // Alice may do everything, but for this.
  using alice = await RawWebSocket.connect(hub.port, { headers: bearer("all-1") });
  for (const topic of ["direct:bob", "direct:bob.>", "direct:carol"]) {
    for (const more of [{}, { replay: "all" }]) {
      await alice.say({ type: "__subscribe", payload: { topic, ...more } });
      assert.match((await alice.hear()).payload.reason, /^alice may not subscribe to "direct:/);
    }
    assert.equal((await ask(`${hub.url}/sub/${topic}?replay=all`, { headers: bearer("all-1") }))[0], 403);
  }
  await alice.subscribe(">", "*", "direct:*", "direct:alice", "direct:*.>");
  using past = await RawWebSocket.connect(hub.port, { headers: bearer("all-1") });
  await past.say({ type: "__subscribe", payload: { topic: ["direct:*", ">"], replay: "all" } });
  assert.equal((await past.hear()).type, "__subscribed");
  await using stream = await EventStream.open(`${hub.url}/sub/%3E?replay=all`, bearer("all-1"));
  await using direct = await EventStream.open(`${hub.url}/sub/direct:*`, bearer("all-1"));

  // Bob may subscribe to color, and to what is for him.
  using bob = await RawWebSocket.connect(hub.port, { headers: bearer("pub.2") });
  await bob.say({ type: "__subscribe", payload: { topic: "direct:*" } });
  assert.match((await bob.hear()).payload.reason, /^bob may not subscribe to "direct:\*"$/);
  await bob.say({ type: "__subscribe", payload: { topic: "direct:bob", replay: "all" } });
  assert.deepEqual([(await bob.hear()).payload, (await bob.hear()).type], ["old", "__subscribed"]);
  await bob.subscribe("direct:bob.>");

  for (const topic of messages) {
    if (topic !== "direct:") await carrier.publish(topic, topic);
  }
  const forAlice = ["direct:alice", "direct", "direct.bob", "color"];
  assert.deepEqual((await alice.take(4)).map(({ payload }) => payload), forAlice);
  assert.deepEqual((await past.take(4)).map(({ payload }) => payload), forAlice);
  for (const topic of forAlice) assert.equal(JSON.parse((await stream.event()).data).payload, topic);
  assert.equal(JSON.parse((await direct.event()).data).payload, "direct:alice");
  assert.deepEqual((await bob.take(2)).map(({ payload }) => payload), ["direct:bob", "direct:bob.more"]);
  for (const peer of [alice, past, bob]) assert.deepEqual(await peer.settled(), []);
});

Deno.test("--anonymous lets in whoever shows no token, and nobody who shows a wrong one", async () => {
  using directory = temporaryDirectory();
  await using hub = await hubWithTokens(directory.path, "--anonymous");
  assert.equal((await ask(`${hub.url}/pub/color`, { method: "POST" }))[0], 201);
  assert.equal((await ask(`${hub.url}/pub/color`, { method: "POST", headers: bearer("wrong") }))[0], 401);
  assert.deepEqual(await ask(`${hub.url}/pub/number`, { method: "POST", headers: bearer("pub.2") }), [
    403,
    'bob may not publish "number"\n',
  ]);
  using peer = await RawWebSocket.connect(hub.port);
  await peer.say({ type: "__subscribe", payload: { topic: "direct:alice" } });
  assert.match((await peer.hear()).payload.reason, /^this connection may not subscribe to "direct:alice"$/);
  await peer.subscribe(">");
  await peer.say({ type: "direct:alice", payload: 1 }, { type: "color", payload: 2 });
  assert.deepEqual((await peer.settled()).map(({ type }) => type), ["color"]);
});

Deno.test("where other machines reach it, a hub does not start before it is said who may come", async () => {
  using directory = temporaryDirectory();
  for (const listen of ["0.0.0.0:0", "[::]:0"]) {
    const { code, stderr } = await ollie(["hub", "--listen", listen]);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /^ollie hub: other machines can reach \S+: say who may with --tokens FILE, or let everybody in/,
    );
  }
  await using open = await HubProcess.start("--listen", "0.0.0.0:0", "--anonymous");
  // Whoever listens there may be known by any name.
  assert.equal(await statusOf(open.port, { Host: "bus.example" }), 200);
  assert.equal(await statusOf(open.port, { Host: "bus.example", Origin: "http://bus.example" }), 200);
  assert.equal(await statusOf(open.port, { Host: "bus.example", Origin: "https://evil.example" }), 403);
  await using closed = await hubWithTokens(directory.path, "--listen", "0.0.0.0:0");
  assert.equal(await handshakeStatus(closed.port, {}), 401);
  assert.equal(await handshakeStatus(closed.port, bearer("all-1")), 101);
});

Deno.test("pages of other sites, and names that were made to lead here, may not talk to a hub on loopback", async () => {
  await using hub = await HubProcess.start(
    "--allow-origin",
    "https://app.example",
    "--allow-origin=http://10.0.0.1:3000/",
  );
  const { port } = hub;
  for (
    const [headers, allowed] of [
      [{ Host: `127.0.0.1:${port}` }, true],
      [{ Host: `localhost:${port}` }, true],
      [{ Host: `LOCALHOST:${port}` }, true],
      [{ Host: "localhost" }, true],
      [{ Host: "127.9.9.9:1" }, true],
      [{ Host: `[::1]:${port}` }, true],
      [{ Host: "app.localhost" }, true],
      [{ Host: "app.example" }, true],
      [{ Host: "10.0.0.1:3000" }, true],
      [{ Host: "10.0.0.1" }, false],
      [{ Host: "evil.example" }, false],
      [{ Host: `evil.example:${port}` }, false],
      [{ Host: "127.0.0.1.evil.example" }, false],
      [{ Host: "localhost.evil.example" }, false],
      [{ Host: "evillocalhost" }, false],
      [{ Host: "128.0.0.1" }, false],
      [{ Host: `127.0.0.1:${port}`, Origin: `http://127.0.0.1:${port}` }, true],
      [{ Host: `localhost:${port}`, Origin: `http://localhost:${port}` }, true],
      [{ Host: `127.0.0.1:${port}`, Origin: "https://app.example" }, true],
      [{ Host: `127.0.0.1:${port}`, Origin: "http://10.0.0.1:3000" }, true],
      [{ Host: `127.0.0.1:${port}`, Origin: `http://localhost:${port}` }, false],
      [{ Host: `127.0.0.1:${port}`, Origin: `https://127.0.0.1:${port}` }, false],
      [{ Host: `127.0.0.1:${port}`, Origin: "http://127.0.0.1:1" }, false],
      [{ Host: `127.0.0.1:${port}`, Origin: "http://app.example" }, false],
      [{ Host: `127.0.0.1:${port}`, Origin: "https://app.example.evil.example" }, false],
      [{ Host: `127.0.0.1:${port}`, Origin: "https://evil.example" }, false],
      [{ Host: `127.0.0.1:${port}`, Origin: "null" }, false],
      [{ Host: "evil.example", Origin: "http://evil.example" }, false],
      [{ Host: "evil.example", Origin: "https://app.example" }, false],
    ] as const
  ) {
    const said = JSON.stringify(headers);
    assert.equal(await statusOf(port, headers), allowed ? 200 : 403, said);
    assert.equal(
      await statusOf(port, { ...headers, "Content-Length": "0" }, "POST /pub/color"),
      allowed ? 201 : 403,
      said,
    );
    assert.equal(await handshakeStatus(port, headers), allowed ? 101 : 403, said);
  }
  await hub.untilMetric("sockets", 0);
  const { code, stderr } = await ollie(["hub", "--allow-origin", "app.example"]);
  assert.equal(code, 2);
  assert.match(stderr, /^ollie hub: --allow-origin takes an origin such as https:\/\/example\.com, not "app\.example"/);
});

Deno.test("a page of an allowed site can read what it is answered, errors too, and asks before it sends a token", async () => {
  using directory = temporaryDirectory();
  await using hub = await hubWithTokens(directory.path, "--allow-origin", "https://app.example");
  const origin = { Origin: "https://app.example" };
  const preflight = await fetch(`${hub.url}/pub/color`, {
    method: "OPTIONS",
    headers: {
      ...origin,
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "authorization,content-type",
    },
  });
  assert.deepEqual([preflight.status, await preflight.text()], [204, ""]);
  const allowed = (name: string) => preflight.headers.get(`access-control-allow-${name}`)?.split(/, */) ?? [];
  assert.deepEqual(allowed("origin"), ["https://app.example"]);
  assert(allowed("methods").includes("POST"));
  for (const header of ["authorization", "content-type", "last-event-id"]) assert(allowed("headers").includes(header));
  assert.match(preflight.headers.get("vary") ?? "", /\borigin$/);

  for (
    const [method, path, token, status] of [
      ["POST", "/pub/color", "all-1", 201],
      ["POST", "/pub/a..b", "all-1", 400],
      ["POST", "/pub/color", "wrong", 401],
      ["POST", "/pub/number", "pub.2", 403],
      ["GET", "/pub/color", "all-1", 405],
      ["GET", "/metrics", "all-1", 200],
      ["GET", "/nothing", "all-1", 404],
    ] as const
  ) {
    const response = await fetch(hub.url + path, { method, headers: { ...origin, ...bearer(token) } });
    await response.body?.cancel();
    const said = `${method} ${path} ${token}`;
    assert.equal(response.status, status, said);
    assert.equal(response.headers.get("access-control-allow-origin"), "https://app.example", said);
    assert.match(response.headers.get("vary") ?? "", /\borigin$/, said);
  }
  await using stream = await EventStream.open(`${hub.url}/sub/color`, { ...origin, ...bearer("all-1") });
  assert.equal(stream.response.headers.get("access-control-allow-origin"), "https://app.example");
  // Nothing of it for others, and for the hub's own pages.
  const strange = await fetch(`${hub.url}/healthz`, { headers: { Origin: "https://evil.example" } });
  const own = await fetch(`${hub.url}/healthz`, { headers: { Origin: hub.url } });
  for (const response of [strange, own]) {
    await response.body?.cancel();
    assert.equal(response.headers.get("access-control-allow-origin"), null);
  }
  assert.deepEqual([strange.status, own.status], [403, 200]);
});

const noOpenssl = !has("openssl");
if (noOpenssl) console.error("there is no openssl on this machine: TLS is not tried");

Deno.test({
  name: "with a certificate, it speaks https and wss, and neither http nor ws",
  ignore: noOpenssl,
  fn: async () => {
    using directory = temporaryDirectory();
    const [cert, key] = ["cert.pem", "key.pem"].map((name) => `${directory.path}/${name}`);
    const made = await new Deno.Command("openssl", {
      args: [
        ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost".split(" "),
        ..."-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE".split(" "),
        "-keyout",
        key,
        "-out",
        cert,
      ],
      stderr: "piped",
    }).output();
    assert(made.success, new TextDecoder().decode(made.stderr));
    await using hub = await HubProcess.start("--cert", cert, "--key", key);
    assert.match(hub.url, /^https:\/\/127\.0\.0\.1:\d+$/);
    const url = hub.url.replace("127.0.0.1", "localhost");
    using client = Deno.createHttpClient({ caCerts: [Deno.readTextFileSync(cert)] });
    const get = (path: string, init: RequestInit = {}) => fetch(url + path, { ...init, client });

    assert.equal(await (await get("/healthz")).text(), "ok\n");
    const own = await get("/healthz", { headers: { Origin: url } });
    assert.deepEqual([own.status, await own.text()], [200, "ok\n"]);
    const other = await get("/healthz", { headers: { Origin: url.replace("https", "http") } });
    assert.equal(other.status, 403);
    await other.body?.cancel();

    // An ordinary client would need the certificate among those that it trusts.
    const socket = await wssOf(hub.port, Deno.readTextFileSync(cert));
    const response = await get("/sub/color");
    const events = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    await events.read();
    await (await get("/pub/color", { method: "POST", body: "red" })).text();
    const { value } = await within(events.read(), "an event");
    assert(value?.includes('data: {"type":"color","id":"","payload":"red"}\n\n'), value);
    await events.cancel();
    assert.equal(await socket.next(), '{"type":"color","id":"","payload":"red"}');
    socket.close();

    await assert.rejects(RawWebSocket.connect(hub.port));
    await assert.rejects(fetch(`http://127.0.0.1:${hub.port}/healthz`));
  },
});

/** A WebSocket by hand over TLS, which has subscribed to `color`: the platform's cannot be told whom to trust. */
async function wssOf(port: number, caCert: string): Promise<{ next(): Promise<string>; close(): void }> {
  const connection = await Deno.connectTls({
    hostname: "localhost",
    port,
    caCerts: [caCert],
    alpnProtocols: ["http/1.1"],
  });
  const peer = await RawWebSocket.over(connection, {
    headers: { Host: `localhost:${port}`, Origin: `https://localhost:${port}` },
  });
  await peer.subscribe("color");
  return { next: () => peer.text(), close: () => peer[Symbol.dispose]() };
}

Deno.test("a certificate and its key go together, and must be there", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/none.pem`;
  for (const option of ["--cert", "--key"]) {
    const { code, stderr } = await ollie(["hub", "-l", "0", option, path]);
    assert.equal(code, 2);
    assert.match(stderr, /^ollie hub: --cert and --key go together/);
  }
  const missing = await ollie(["hub", "-l", "0", "--cert", path, "--key", path]);
  assert.deepEqual([missing.code, missing.stderr], [
    1,
    `ollie hub: cannot read --cert ${path}: no such file or directory\n`,
  ]);
  Deno.writeTextFileSync(path, "this is no certificate\n");
  const wrong = await ollie(["hub", "-l", "0", "--cert", path, "--key", path]);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /^ollie hub: cannot listen on 127\.0\.0\.1:0: .+\n$/);
});
