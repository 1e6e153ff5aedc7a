/** That nobody can make the server, or be made by a server, to hold more than it should. */
import assert from "node:assert/strict";
import { NinepBus } from "../../mod.ts";
import type { ByteStream } from "../../lib/ninep/frames.ts";
import { encodeMessage } from "../../lib/ninep/codec.ts";
import type { Message } from "../../lib/ninep/message.ts";
import { NinepServer } from "../../lib/ninep/server.ts";
import { EventTree } from "../../lib/ninep/tree.ts";
import { until } from "../deadline.ts";
import { event, ScriptedBus } from "./scripted.ts";
import { parseMessage, serve } from "./transcript.ts";

/** A client that sends, over and over, and whose socket takes nothing: it is asked for more as long as the server reads. */
class Flood implements ByteStream {
  /** How many messages the server has read of what is sent over and over. */
  turns = 0;
  readonly #opening: Message[];
  readonly #over: (turn: number) => Message;
  readonly #takes: boolean;
  readonly #end = Promise.withResolvers<null>();

  constructor(opening: readonly Message[], over: (turn: number) => Message, takes: boolean) {
    this.#opening = [...opening];
    this.#over = over;
    this.#takes = takes;
  }

  async read(into: Uint8Array): Promise<number | null> {
    // As a socket, it comes with the event loop.
    await new Promise((resolve) => setTimeout(resolve));
    const opening = this.#opening.shift();
    if (opening === undefined && this.turns >= 2000) return await this.#end.promise;
    const frame = encodeMessage(opening ?? this.#over(this.turns++), "9P2000");
    assert(frame.length <= into.length);
    into.set(frame);
    return frame.length;
  }

  write(bytes: Uint8Array): Promise<number> {
    return this.#takes ? Promise.resolve(bytes.length) : new Promise(() => {});
  }

  close(): void {
    this.#end.resolve(null);
  }
}

const opening = (name: string, mode: number): Message[] => [
  parseMessage('Tversion tag NOTAG msize 8192 version "9P2000"'),
  parseMessage('Tattach tag 1 fid 0 afid NOFID uname "" aname ""'),
  parseMessage(`Twalk tag 1 fid 0 newfid 1 wname [${name}]`),
  parseMessage(`Topen tag 1 fid 1 mode ${mode}`),
];

/** Waits until the server no longer reads. */
async function settled(flood: Flood): Promise<number> {
  for (let before = -1; before !== flood.turns;) {
    before = flood.turns;
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve));
  }
  return flood.turns;
}

Deno.test("whoever does not read answers is read no more", async () => {
  const bus = new ScriptedBus();
  const server = new NinepServer(new EventTree(bus).root);
  const flood = new Flood(
    opening("", 0),
    (turn) => ({ type: "Tread", tag: turn, fid: 1, offset: 0n, count: 8000 }),
    false,
  );
  const served = server.serve(flood);
  // The entries of the directory.
  const answer = 300;
  const turns = await settled(flood);
  // What waits to be written, and what is being written.
  assert(turns <= 2 * 256 * 1024 / answer + 2, `${turns} requests were read`);
  flood.close();
  await server.close();
  await served;
});

Deno.test("whoever does not read answers makes the server take no more events", async () => {
  const events = Array.from({ length: 2000 }, (_, i) => event(`${i}`, new Uint8Array(7000)));
  const bus = new ScriptedBus([events]);
  const server = new NinepServer(new EventTree(bus).root);
  const flood = new Flood(
    opening('"event"', 2),
    (turn) => ({ type: "Tread", tag: turn, fid: 1, offset: 0n, count: 8000 }),
    false,
  );
  const served = server.serve(flood);
  await settled(flood);
  // What waits to be written, and what is being written.
  assert(bus.taken <= 2 * 256 * 1024 / 7000 + 2, `${bus.taken} events were taken`);
  flood.close();
  await server.close();
  await served;
});

Deno.test("whoever writes faster than the bus takes is read no more", async () => {
  const publishing = Promise.withResolvers<never>();
  publishing.promise.catch(() => {});
  const bus = new ScriptedBus([], () => publishing.promise);
  const server = new NinepServer(new EventTree(bus).root);
  const line = new TextEncoder().encode(`n ${"x".repeat(3900)}\n`);
  const flood = new Flood(
    opening('"pub"', 1),
    (turn) => ({ type: "Twrite", tag: turn, fid: 1, offset: 0n, data: line }),
    true,
  );
  const served = server.serve(flood);
  assert(await settled(flood) <= 4 * 1024 * 1024 / line.length + 2);
  publishing.reject(new Error("enough"));
  flood.close();
  await server.close();
  await served;
});

Deno.test("a subscriber that does not read makes the client take so much, and no more", async () => {
  const events = Array.from({ length: 2000 }, (_, i) => event(`${i}`, new Uint8Array(10_000)));
  const scripted = new ScriptedBus([events]);
  await using served = serve(scripted);
  await using bus = new NinepBus(`unix:${served.path}`);
  const subscription = bus.subscribe("n");
  await subscription.ready;
  let before = -1;
  await until("the end of the taking", async () => {
    const same = before === scripted.taken;
    before = scripted.taken;
    await new Promise((resolve) => setTimeout(resolve, 50));
    return same && before > 0;
  });
  // 1 MiB, and what the reads that are under way bring.
  assert(scripted.taken <= 1024 * 1024 / 10_000 + 20, `${scripted.taken} events were taken`);
  for (let i = 0; i < 2000; i++) assert.equal((await subscription.next()).value?.id, `${i}`);
});

Deno.test("replies to what arrives in one read leave in one write", async () => {
  const server = new NinepServer(new EventTree(new ScriptedBus()).root);
  const messages = [
    ...opening('"event"', 2),
    ...Array.from({ length: 50 }, (_, tag) => parseMessage(`Tstat tag ${tag} fid 0`)),
  ];
  const request = await new Blob(messages.map((message) => new Uint8Array(encodeMessage(message, "9P2000")))).bytes();
  const writes: Uint8Array[] = [];
  const written = Promise.withResolvers<null>();
  let sent = false;
  await server.serve({
    read: (into) => {
      if (sent) return written.promise;
      sent = true;
      into.set(request);
      return Promise.resolve(request.length);
    },
    write: (bytes) => {
      writes.push(bytes);
      written.resolve(null);
      return Promise.resolve(bytes.length);
    },
    close() {},
  });
  assert.equal(writes.length, 1);
  // Rversion, Rattach, Rwalk, Ropen, and the stats.
  assert.equal(writes[0].length, 19 + 20 + 22 + 24 + 50 * (7 + 2 + 2 + 39 + 4 * 2 + 1 + 3 * 5));
});
