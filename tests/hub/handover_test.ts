/** From the past to what follows, while events stream in from another process: every connection has each event once, in order. */
import assert from "node:assert/strict";
import { OLLIE, Running } from "../cli/ollie.ts";
import { temporaryDirectory } from "../temporary.ts";
import { HubProcess } from "./hub_process.ts";
import { RawWebSocket } from "./raw_websocket.ts";

/** Reads until it has an event of the last payload. Returns all payloads, and how many came before `__subscribed`. */
async function readAll(peer: RawWebSocket, last: number): Promise<{ payloads: number[]; past: number }> {
  const payloads: number[] = [];
  let past: number | undefined;
  while (payloads.at(-1) !== last || past === undefined) {
    for (const line of (await peer.text()).split("\n")) {
      const { type, payload } = JSON.parse(line);
      if (type === "__subscribed") past = payloads.length;
      else payloads.push(payload);
    }
  }
  return { payloads, past };
}

Deno.test("connections that come at any moment of a stream have all of it, once and in order", async () => {
  using directory = temporaryDirectory();
  await using hub = await HubProcess.start(directory.path);
  await using publisher = new Running([...OLLIE, "pub", "--lines", directory.path, "n"]);
  using first = await RawWebSocket.connect(hub.port);
  await first.subscribe("n");

  const count = 6000;
  const readers: Promise<{ payloads: number[]; past: number }>[] = [];
  const peers: RawWebSocket[] = [];
  let seen = 0;
  const writing = (async () => {
    // In portions, so that the stream goes on for as long as connections come.
    for (let from = 0; from < count; from += 100) {
      await publisher.write(Array.from({ length: 100 }, (_, i) => `${from + i}\n`).join(""));
      while (seen < from - 200) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await publisher.closeInput();
  })();
  // A connection comes whenever the first one has had some more.
  for (let next = 0; seen < count;) {
    assert.equal((await first.hear()).payload, seen++);
    if (seen < next) continue;
    next += 100;
    const at = peers.length;
    const peer = await RawWebSocket.connect(hub.port, at % 3 === 0 ? { protocols: ["ollie.batch.v1"] } : {});
    peers.push(peer);
    // Some filters match twice what others match once; one has to be found among many.
    const topic = [">", ["n", "*"], ["a", "n"], "n"][at % 4];
    await peer.say({ type: "__subscribe", payload: { topic, replay: "all" } });
    const reader = readAll(peer, count - 1);
    // It is awaited below, unless the test has failed by then.
    reader.catch(() => {});
    readers.push(reader);
  }
  await writing;
  assert.equal((await publisher.status).code, 0);
  const all = Array.from({ length: count }, (_, i) => i);
  const pasts: number[] = [];
  for (const reader of readers) {
    const { payloads, past } = await reader;
    assert.deepEqual(payloads, all);
    pasts.push(past);
  }
  assert.equal(peers.length, count / 100 + 1);
  // The stream did go on around them: for most, the past was but a part of it.
  const within = pasts.filter((past) => past > 0 && past < count).length;
  assert(within > peers.length / 2, `${within} of ${peers.length}: ${pasts}`);
  for (const peer of peers) {
    assert.deepEqual(await peer.settled(), []);
    peer[Symbol.dispose]();
  }
  assert.equal(await hub.metric("slow_consumers_total"), 0);
});

Deno.test("a connection that is cut off again and again resumes after what it had, and misses nothing", async () => {
  using directory = temporaryDirectory();
  await using hub = await HubProcess.start(directory.path);
  await using publisher = new Running([...OLLIE, "pub", "--lines", directory.path, "n"]);
  const count = 3000;
  await publisher.write(Array.from({ length: count }, (_, i) => `${i}\n`).join(""));
  await publisher.closeInput();
  const had: number[] = [];
  let from: Record<string, unknown> = { replay: "all" };
  for (let connections = 0; had.length < count; connections++) {
    using peer = await RawWebSocket.connect(hub.port);
    await peer.say({ type: "__subscribe", payload: { topic: ["n", "other"], ...from } });
    for (let i = 0; i < 97 && had.length < count; i++) {
      const { type, payload, at } = await peer.hear();
      if (type === "__subscribed") continue;
      had.push(payload);
      from = { after: at };
    }
    assert(connections < count);
  }
  // One process publishes, so that the order of ids is that of arrival.
  assert.deepEqual(had, Array.from({ length: count }, (_, i) => i));
});
