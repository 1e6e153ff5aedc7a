/** One event, whichever face it comes in by and goes out by: every JSON value and every byte string is the same on all. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { DirectoryBus } from "../../mod.ts";
import { base64 } from "../../lib/format.ts";
import { parseEnvelope, payloadOf } from "../../lib/hub/envelope.ts";
import { OLLIE, Running, shell, startServer } from "../cli/ollie.ts";
import { until } from "../deadline.ts";
import { temporaryDirectory } from "../temporary.ts";
import { EventStream } from "./event_stream.ts";
import { HubProcess } from "./hub_process.ts";
import { RawWebSocket } from "./raw_websocket.ts";

const utf8 = new TextEncoder();
const bytesOf = (payload: Uint8Array | string) => typeof payload === "string" ? utf8.encode(payload) : payload;

/** A hub on a directory, and somebody who listens at each of its faces. */
class Faces implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  readonly #bus: DirectoryBus;
  readonly #hub: HubProcess;
  readonly #publisher: RawWebSocket;
  /** What comes out, as bytes, at each face. */
  readonly #outs: Readonly<Record<string, () => Promise<Uint8Array>>>;
  #published = 0;

  private constructor(
    stack: AsyncDisposableStack,
    parts: {
      bus: DirectoryBus;
      hub: HubProcess;
      publisher: RawWebSocket;
      outs: Record<string, () => Promise<Uint8Array>>;
    },
  ) {
    this.#stack = stack;
    this.#bus = parts.bus;
    this.#hub = parts.hub;
    this.#publisher = parts.publisher;
    this.#outs = parts.outs;
  }

  static async open(): Promise<Faces> {
    await using stack = new AsyncDisposableStack();
    const { path } = stack.use(temporaryDirectory());
    const hub = stack.use(await HubProcess.start(path));
    const bus = stack.use(new DirectoryBus(path));
    const plain = stack.use(await RawWebSocket.connect(hub.port));
    await plain.subscribe("p");
    const positioned = stack.use(await RawWebSocket.connect(hub.port));
    await positioned.say({ type: "__subscribe", payload: { topic: ["p"], replay: 0 } });
    await positioned.hear();
    const stream = stack.use(await EventStream.open(`${hub.url}/sub/p`));
    const files = stack.use(bus.subscribe("p"));
    await files.ready;
    const publisher = stack.use(await RawWebSocket.connect(hub.port));
    const received = (envelope: string) => bytesOf(payloadOf(parseEnvelope(envelope)));
    const outs = {
      "WebSocket": async () => received(await plain.text()),
      "WebSocket, with its position": async () => received(await positioned.text()),
      "Server-Sent Events": async () => received((await stream.event()).data),
      "the directory": async () => (await files.next()).value?.payload ?? assert.fail("the bus ended"),
    };
    return new Faces(stack.move(), { bus, hub, publisher, outs });
  }

  /** By which faces an event comes in. Each returns once it is on the bus. */
  readonly ins: Readonly<Record<string, (payload: Uint8Array) => Promise<void>>> = {
    "WebSocket, as base64": async (payload) => {
      await this.say({ payload_base64: base64(payload) });
    },
    "POST": async (payload) => {
      const response = await fetch(`${this.#hub.url}/pub/p`, { method: "POST", body: payload.slice() });
      assert.equal(response.status, 201);
      await response.body?.cancel();
    },
    "the directory": async (payload) => {
      await this.#bus.publish("p", payload);
    },
  };

  /** Publishes by WebSocket, and waits until that is done. */
  async say(members: object | string): Promise<void> {
    const ref = ++this.#published;
    const text = typeof members === "string" ? members : JSON.stringify(members).slice(1, -1);
    await this.#publisher.send({ opcode: 1, payload: `{"type":"p",${text},"ref":${ref}}` });
    const { type, payload } = await this.#publisher.hear();
    assert.deepEqual([type, payload.ref], ["__published", ref]);
  }

  /** What comes out at each face, under its name. */
  async out(): Promise<Record<string, Uint8Array>> {
    const came: Record<string, Uint8Array> = {};
    for (const [name, next] of Object.entries(this.#outs)) came[name] = await next();
    return came;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** Byte strings of all kinds: any; JSON, with white space around it and without; any text. */
const payloads = fc.oneof(
  fc.uint8Array({ size: "medium" }),
  fc.json().map(bytesOf),
  fc.tuple(fc.constantFrom("", " ", "\n", "\ufeff"), fc.json(), fc.constantFrom("", "\r\n", " "))
    .map((parts) => bytesOf(parts.join(""))),
  fc.string({ unit: "binary" }).map(bytesOf),
);

Deno.test("property: every byte string that comes in by one face comes out by all of them", async () => {
  await using faces = await Faces.open();
  await fc.assert(
    fc.asyncProperty(payloads, fc.constantFrom(...Object.keys(faces.ins)), async (payload, way) => {
      await faces.ins[way](payload);
      for (const [name, came] of Object.entries(await faces.out())) {
        assert.deepEqual(came, payload, `in by ${way}, out by ${name}`);
      }
    }),
    { numRuns: 300, endOnFailure: true },
  );
});

Deno.test("property: every JSON value that a WebSocket publishes comes out by all faces", async () => {
  await using faces = await Faces.open();
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ stringUnit: "binary" }), async (value) => {
      await faces.say({ payload: value });
      const expected = JSON.parse(JSON.stringify(value));
      for (const [name, came] of Object.entries(await faces.out())) {
        const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(came);
        let found: unknown = text;
        try {
          found = JSON.parse(text);
        } catch {
          // A string that is not JSON stands for itself.
        }
        assert.deepEqual(found, expected, `out by ${name}`);
      }
    }),
    { numRuns: 300, endOnFailure: true },
  );
  // Numbers as they were written, although JavaScript has no such numbers.
  await faces.say('"payload":[12345678901234567890,1.0,-0,1E400]');
  for (const came of Object.values(await faces.out())) {
    assert.equal(new TextDecoder().decode(came), "[12345678901234567890,1.0,-0,1E400]");
  }
});

Deno.test("what is nested too deeply for an envelope comes out to the byte, and costs nobody a connection", async () => {
  await using faces = await Faces.open();
  for (const depth of [1000, 5000, 20_000, 100_000]) {
    const payload = bytesOf("[".repeat(depth) + "]".repeat(depth));
    await faces.ins.POST(payload);
    for (const [name, came] of Object.entries(await faces.out())) assert.deepEqual(came, payload, `${name}, ${depth}`);
  }
  await faces.say({ payload: "red" });
  for (const came of Object.values(await faces.out())) assert.deepEqual(came, bytesOf("red"));
});

Deno.test("an event from a shell reaches a WebSocket, a stream, a 9P reader and sub; and one from a WebSocket, all of them", async () => {
  using directory = temporaryDirectory();
  const bus = `${directory.path}/bus`;
  await using hub = await HubProcess.start(bus);
  const { running, address } = await startServer("--listen", `unix:${directory.path}/s`, bus);
  await using _server = running;
  using browser = await RawWebSocket.connect(hub.port);
  await browser.subscribe("color");
  await using stream = await EventStream.open(`${hub.url}/sub/color`);
  await using ninep = new Running([...OLLIE, "9p", "-a", address, "read", "event"]);
  await until("the subscription over 9P", async () => {
    const { stdout } = await shell("ollie 9p read stats", { env: { OLLIE_9P: address } });
    return stdout.includes("subscriptions 1\n");
  });
  await using sub = await Running.sub("-m", "-f", "text", bus);

  const { code } = await shell(`echo red | ollie pub ${bus} color`);
  assert.equal(code, 0);
  const red = { type: "color", id: "", payload: "red\n" };
  assert.deepEqual(await browser.hear(), red);
  assert.deepEqual(JSON.parse((await stream.event()).data), red);
  assert.equal(await ninep.stdout.next(), "color red");
  assert.equal(await sub.stdout.next(), "color red");

  await browser.say({ type: "color", payload: "blue" }, { type: "number", id: "5", payload: [5] });
  assert.deepEqual(await browser.hear(), { type: "color", id: "", payload: "blue" });
  assert.equal(JSON.parse((await stream.event()).data).payload, "blue");
  assert.deepEqual(await ninep.stdout.take(2), ["color blue", "number:5 [5]"]);
  assert.deepEqual(await sub.stdout.take(2), ["color blue", "number:5 [5]"]);

  await shell(`echo 'color green' | ollie 9p write pub; curl -s -d yellow ${hub.url}/pub/color`, {
    env: { OLLIE_9P: address },
  });
  assert.deepEqual((await browser.take(2)).map(({ payload }) => payload), ["green", "yellow"]);
  assert.deepEqual(await sub.stdout.take(2), ["color green", "color yellow"]);
  assert.deepEqual(await ninep.stdout.take(2), ["color green", "color yellow"]);
});

Deno.test("a hub on a 9P server: what is published on either side is heard on the other", async () => {
  using directory = temporaryDirectory();
  const bus = `${directory.path}/bus`;
  const { running, address } = await startServer("--listen", `unix:${directory.path}/s`, bus);
  await using _server = running;
  await using hub = await HubProcess.start(address);
  using peer = await RawWebSocket.connect(hub.port);
  await peer.subscribe(">");
  await shell(`ollie pub -d red ${bus} color`);
  assert.deepEqual(await peer.hear(), { type: "color", id: "", payload: "red" });
  await peer.say({ type: "color", payload: "blue", ref: 1 });
  const heard = await peer.take(2);
  assert.deepEqual(heard.map(({ type }) => type).sort(), ["__published", "color"]);
  // The server keeps a directory, so that there is a past.
  using late = await RawWebSocket.connect(hub.port);
  await late.say({ type: "__subscribe", payload: { topic: "color", replay: "all" } });
  const past = (await late.take(3)).filter(({ type }) => type === "color");
  assert.deepEqual(past.map(({ payload }) => payload), ["red", "blue"]);
});
