/** `ollie link` to NATS and from it: a stream takes each event once, whatever is killed. */
import assert from "node:assert/strict";
import { DirectoryBus } from "../../mod.ts";
import { NatsBus } from "../../lib/bus/nats.ts";
import { take } from "../bus/reading.ts";
import { until, within } from "../deadline.ts";
import { ignore, NatsServer, type NatsServerOptions } from "../nats_server.ts";
import { temporaryDirectory } from "../temporary.ts";
import { ollie, Running } from "./ollie.ts";

function testOnNats(
  name: string,
  options: NatsServerOptions,
  run: (server: NatsServer, directory: string) => Promise<void>,
): void {
  Deno.test({
    name,
    ignore,
    fn: async () => {
      using directory = temporaryDirectory();
      await using server = await NatsServer.start(options);
      await run(server, directory.path);
    },
  });
}

/** The payloads of a directory's events, in the order of their names. */
function payloadsIn(bus: string): string[] {
  const names = Array.from(Deno.readDirSync(`${bus}/events`), ({ name }) => name).sort();
  return names.map((name) => Deno.readTextFileSync(`${bus}/events/${name}`));
}

/** How many events a stream has. */
async function countIn(server: NatsServer, stream: string): Promise<number> {
  let count = 0;
  await server.administer(async ({ streams }) => {
    count = (await streams.info(stream).catch(() => undefined))?.state.messages ?? 0;
  });
  return count;
}

/** What a stream has. */
async function payloadsOf(server: NatsServer, stream: string, count: number): Promise<string[]> {
  await using bus = new NatsBus(server.url(), { stream });
  await using events = bus.subscribe(">", { from: "start" });
  return (await take(events, count)).map(({ payload }) => new TextDecoder().decode(payload));
}

const TO_STREAM = ["--stream", "EVENTS", "--create-stream"];

testOnNats(
  "a link that is killed again and again: a stream has each event once, in order",
  { jetStream: true },
  async (server, directory) => {
    const a = `${directory}/a`;
    await using bus = new DirectoryBus(a);
    const count = 3000;
    for (let i = 0; i < count; i++) await bus.publish("n", `${i}`);
    const args = ["--cursor", `${directory}/cursor`, ...TO_STREAM, a, server.url()];
    for (let run = 0; run < 5; run++) {
      await using link = await Running.link(...args);
      const before = await countIn(server, "EVENTS");
      await until("some more", async () => await countIn(server, "EVENTS") > Math.min(count - 1, before + 100));
      link.signal("SIGKILL");
    }
    await using link = await Running.link(...args);
    await until("all of them", async () => await countIn(server, "EVENTS") >= count);
    await bus.publish("n", "last");
    await until("the last one", async () => await countIn(server, "EVENTS") > count);
    assert.equal(await countIn(server, "EVENTS"), count + 1);
    link.signal("SIGTERM");
    assert.equal((await within(link.status, "the end")).code, 0);
    const all = [...Array.from({ length: count }, (_, i) => `${i}`), "last"];
    assert.deepEqual(await payloadsOf(server, "EVENTS", count + 1), all);
  },
);

testOnNats(
  "a server that is killed: its stream gets all when it is back, once",
  { jetStream: true },
  async (server, directory) => {
    const a = `${directory}/a`;
    await using bus = new DirectoryBus(a);
    await using link = await Running.link("--cursor", `${directory}/cursor`, ...TO_STREAM, a, server.url());
    await bus.publish("n", "0");
    await until("the first", async () => await countIn(server, "EVENTS") === 1);
    await server.kill();
    for (let i = 1; i < 50; i++) await bus.publish("n", `${i}`);
    assert.equal(await link.stderr.next(), `ollie link: ${server.url()} does not answer; what is to be copied waits`);
    await server.restart();
    assert.equal(await link.stderr.next(), `ollie link: ${server.url()} is back`);
    await until("all of them", async () => await countIn(server, "EVENTS") >= 50);
    assert.deepEqual(await payloadsOf(server, "EVENTS", 50), Array.from({ length: 50 }, (_, i) => `${i}`));
  },
);

testOnNats(
  "a circle through a stream, and one through a server that keeps nothing",
  { jetStream: true },
  async (server, directory) => {
    const args = [TO_STREAM, []];
    for (const [i, options] of args.entries()) {
      const a = `${directory}/${i}`;
      const address = server.url(`circle${i}`);
      await using there = await Running.link(...options, a, address);
      await using back = await Running.link(...options, address, a);
      await using bus = new DirectoryBus(a);
      await using nats = new NatsBus(address, { stream: options.at(1) });
      await using events = nats.subscribe(">");
      await events.ready;
      for (let n = 0; n < 50; n++) await Promise.all([bus.publish("n", `a ${n}`), nats.publish("n", `nats ${n}`)]);
      await bus.publish("n", "last");
      const seen = (await take(events, 101)).map(({ payload }) => new TextDecoder().decode(payload));
      await nats.publish("n", "the very last");
      await until("the very last", () => payloadsIn(a).includes("the very last"));
      for (const link of [there, back]) {
        link.signal("SIGTERM");
        await link.status;
        assert.deepEqual(await link.stderr.rest(), []);
      }
      const expected = Array.from({ length: 50 }, (_, n) => [`a ${n}`, `nats ${n}`]).flat();
      assert.deepEqual(seen.sort(), [...expected, "last"].sort());
      assert.deepEqual(payloadsIn(a).sort(), [...expected, "last", "the very last"].sort());
      // What was published there has come after what came before.
      const { value } = await events.next();
      assert.equal(new TextDecoder().decode(value?.payload), "the very last");
    }
  },
);

testOnNats("from one stream to another, each with its own name", { jetStream: true }, async (server, directory) => {
  await ollie(["pub", "-d", "red", ...TO_STREAM, server.url("a"), "color"]);
  const args = ["--from-stream", "EVENTS", "--stream", "COPY", "--create-stream", server.url("a"), server.url("ollie")];
  await using link = await Running.link("--cursor", `${directory}/cursor`, ...args);
  await until("the event", async () => await countIn(server, "COPY") === 1);
  assert.deepEqual(await payloadsOf(server, "COPY", 1), ["red"]);
  link.signal("SIGTERM");
  assert.equal((await link.status).code, 0);
});

testOnNats("a source that keeps nothing has no cursor; what is too long for a server is told of", {
  config: "max_payload: 2000",
}, async (server, directory) => {
  const cursor = ["--cursor", `${directory}/cursor`];
  const { code, stderr } = await ollie(["link", ...cursor, server.url(), `${directory}/b`]);
  assert.equal(code, 1);
  assert.match(stderr, /^ollie link: [^\n]*keeps no events[^\n]*\n$/);
  const a = `${directory}/a`;
  await using bus = new DirectoryBus(a);
  await using link = await Running.link(...cursor, a, server.url());
  await using nats = new NatsBus(server.url());
  await using events = nats.subscribe(">");
  await events.ready;
  await bus.publish("n", "x".repeat(3000));
  await bus.publish("n", "short");
  assert.equal((await take(events, 1))[0].payload.length, 5);
  assert.match(await link.stderr.next() ?? "", /is not copied: the event has 3000 bytes: nats:\S+ takes at most 2000/);
});
