import assert from "node:assert/strict";
import { BusError } from "../../mod.ts";
import { NinepClient } from "../../lib/ninep/client.ts";
import { NinepError } from "../../lib/ninep/error.ts";
import { within } from "../deadline.ts";
import { serve } from "./transcript.ts";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("a client writes a filter and reads what matches", async () => {
  await using served = serve();
  await using client = await NinepClient.connect(`unix:${served.path}`);
  await using event = await client.open("event", "readwrite");
  await event.write(bytes("color"));
  const reading = event.read();
  // Answered when the subscription has begun: whatever comes after it is seen.
  await event.read({ count: 0 });
  await served.bus.publish("number", "one");
  await served.bus.publish("color", "red");
  assert.equal(text(await reading), "color red\n");
});

Deno.test("an abort takes back the read, and loses no event", async () => {
  await using served = serve();
  await using client = await NinepClient.connect(`unix:${served.path}`);
  await using event = await client.open("event", "read");
  for (let i = 0; i < 200; i++) {
    const stop = new AbortController();
    const aborted = event.read({ signal: stop.signal }).then(text, (error) => {
      assert.equal(error, "enough");
      return undefined;
    });
    // At the same time, so that each may come first.
    if (i % 2 === 0) stop.abort("enough");
    const published = served.bus.publish("n", `${i}`);
    stop.abort("enough");
    await published;
    assert.equal(await aborted ?? text(await within(event.read(), `event ${i}`)), `n ${i}\n`);
  }
});

Deno.test("many requests wait at once, each for its own answer", async () => {
  await using served = serve();
  await using client = await NinepClient.connect(`unix:${served.path}`);
  const files = await Promise.all(Array.from({ length: 300 }, () => client.open("event", "readwrite")));
  await Promise.all(files.map((file, i) => file.write(bytes(`n.${i}`))));
  const reads = files.map((file) => file.read());
  await Promise.all(files.map((file) => file.read({ count: 0 })));
  for (let i = files.length - 1; i >= 0; i--) await served.bus.publish(`n.${i}`, `${i}`);
  assert.deepEqual((await Promise.all(reads)).map(text), files.map((_, i) => `n.${i} ${i}\n`));
  assert.equal(served.tree.counters.subscriptions, 300);
  await Promise.all(files.map((file) => file.close()));
  assert.equal(served.tree.counters.subscriptions, 0);
  assert.equal(served.server.fids, 1);
});

Deno.test("what the server refuses is an error that says so, and the connection goes on", async () => {
  await using served = serve();
  await using client = await NinepClient.connect(`unix:${served.path}`);
  await assert.rejects(client.open("nothing", "read"), new NinepError("No such file or directory", 0));
  await assert.rejects(client.open("event/event", "read"), /No such file or directory|Not a directory/);
  await assert.rejects(client.open("event", "write"), /publish into pub/);
  assert.equal(served.server.fids, 1);
  const names = (await client.list("/")).map(({ name }) => name);
  assert.deepEqual(names, ["event", "event.json", "pub", "pub.json", "stats", "id"]);
  assert.equal((await client.stat("pub")).mode, 0o222);
});

Deno.test("when the server hangs up, whoever waits is told", async () => {
  await using served = serve();
  await using client = await NinepClient.connect(`unix:${served.path}`);
  const event = await client.open("event", "read");
  const waiting = event.read().catch((error) => error);
  await event.read({ count: 0 });
  await served.server.close();
  const error = await waiting;
  assert(error instanceof NinepError || error instanceof BusError);
  assert.match(error.message, /the server is ending/);
  await assert.rejects(event.read(), BusError);
});

Deno.test("a write is cut into as many messages as it takes", async () => {
  await using served = serve("mem", { maxMessageBytes: 8192 });
  await using client = await NinepClient.connect(`unix:${served.path}`);
  await using events = served.bus.subscribe(">");
  const long = "x".repeat(100_000);
  const pub = await client.open("pub", "write");
  await pub.write(bytes(`long ${long}\nshort y\n`));
  await pub.close();
  assert.equal(text((await events.next()).value!.payload), long);
  assert.equal(text((await events.next()).value!.payload), "y");
});

Deno.test("where nobody listens, or somebody who speaks something else, the error says so", async () => {
  await assert.rejects(
    NinepClient.connect("unix:/nothing/here"),
    /cannot connect to unix:\/nothing\/here: no such file/,
  );
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepting = listener.accept().then(async (connection) => {
    await connection.write(bytes("220 mail.example.org ESMTP\r\n"));
    connection.close();
  });
  await assert.rejects(NinepClient.connect(`tcp:127.0.0.1:${listener.addr.port}`), BusError);
  await accepting;
});

Deno.test("when as many requests wait as may, a file can still be closed and a read taken back", async () => {
  await using served = serve();
  await using client = await NinepClient.connect(`unix:${served.path}`);
  const event = await client.open("event", "read");
  const stop = new AbortController();
  const first = event.read({ signal: stop.signal }).catch((error) => error);
  let refused: Promise<unknown> | undefined;
  const waiting: Promise<unknown>[] = [];
  while (refused === undefined) {
    const reads = Array.from({ length: 1000 }, () => event.read().then(() => "read", (error) => error));
    waiting.push(...reads);
    const soon = await Promise.race([reads[999], Promise.resolve(undefined)]);
    if (soon !== undefined || waiting.length > 65_535) refused = reads[999];
  }
  assert.match(String(await refused), /61439 requests wait/);
  stop.abort("enough");
  assert.equal(await first, "enough");
  await event.close();
  assert((await Promise.all(waiting)).every((error) => error instanceof Error));
  assert.equal(served.tree.counters.subscriptions, 0);
});
