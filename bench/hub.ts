/**
 * The hub: how fast events fan out to WebSockets, against a broadcast by npm `ws` on Node and against Bun's own; what a
 * connection takes, and what topics cost.
 */
import { CLI, execute, median, type Row, RUN, temporaryDirectory, thousands } from "./measure.ts";
import { has, Server } from "./server.ts";
import { findWsload, type Load, wsload } from "./wsload.ts";

const WS = "ws@8.23.0";
const BUN = "bun@1.4.5";
const PEERS = new URL("peers", import.meta.url).pathname;

const ROUNDS = 7;

/** What every contender is sent, and sends on: an envelope with 100 bytes. */
const EVENT = '{"type":"color","id":"","payload":"%s"}';
const SUBSCRIBE = JSON.stringify({ type: "__subscribe", payload: { topic: "color" } });
const SUBSCRIBE_TO_PEER = "s";
const BATCH = "ollie.batch.v1";

/** Everything about the hub. */
export async function hub(): Promise<Row[]> {
  using directory = temporaryDirectory();
  return [...await againstPeers(directory.path), await memory(), await topics()];
}

function startHub(): Promise<Server> {
  return Server.start([...RUN, "--allow-net", CLI, "hub", "--listen", "127.0.0.1:0"], "stderr");
}

// Against others.

/** Installs the peers, once for all runs, since Bun is large. Returns where, or `undefined` if that cannot be done. */
async function installPeers(): Promise<string | undefined> {
  const caches = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`;
  const path = `${caches}/ollie-bench`;
  try {
    await execute(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", path, WS, BUN]);
  } catch {
    return undefined;
  }
  return path;
}

async function againstPeers(directory: string): Promise<Row[]> {
  const load = await findWsload(directory);
  if (load === undefined) {
    console.error("without wsload, which OLLIE_WSLOAD names, the hub is not measured against others");
    return [];
  }
  const peers = has("node") && has("npm") ? await installPeers() : undefined;
  if (peers === undefined) {
    console.error("without node, and npm to install ws and bun with, the hub is not measured against others");
    return [];
  }
  await using ours = await startHub();
  await using ws = await Server.start(["node", `${PEERS}/ws.js`, peers], "stdout");
  await using bun = await Server.start([`${peers}/node_modules/.bin/bun`, `${PEERS}/bun.js`], "stdout");
  /** In turn, so that both meet the machine in the same mood. */
  const compare = async (peer: Server, options: Readonly<Record<string, unknown>>): Promise<[Load, Load]> => {
    const loads: [Load[], Load[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      loads[0].push(await wsload(load, ours.port, { publish: EVENT, subscribe: SUBSCRIBE, ...options }));
      loads[1].push(await wsload(load, peer.port, { publish: EVENT, subscribe: SUBSCRIBE_TO_PEER, ...options }));
    }
    const middle = (loads: Load[]): Load => ({
      rate: median(loads.map(({ rate }) => rate)),
      time: median(loads.map(({ time }) => time)),
    });
    return [middle(loads[0]), middle(loads[1])];
  };
  const plain = await compare(ws, { conns: 1000, window: 50, messages: 400 });
  const batch = await compare(bun, { conns: 1000, window: 50, messages: 4000, protocol: BATCH });
  const single = await compare(bun, { conns: 100, window: 1, messages: 2000 });
  const ratio = ([our, their]: [Load, Load]) =>
    `${(our.rate / their.rate).toFixed(2)} × (${thousands(our.rate)}/s to ${thousands(their.rate)}/s)`;
  return [
    {
      what: "hub: events of 100 bytes to 1,000 subscribers, 50 at a time",
      reach: "at least 1.2 × a plain broadcast by npm `ws` on Node",
      measured: ratio(plain),
    },
    {
      what: "hub: the same to 1,000 subscribers that take batches",
      reach: "at least 1 × Bun's `publish`",
      measured: ratio(batch),
    },
    {
      what: "hub: one event to 100 subscribers, until the last of them has it",
      reach: "at most 1.3 × Bun's `publish`",
      measured: `${(single[0].time / single[1].time).toFixed(2)} × (${single[0].time} ms to ${single[1].time} ms)`,
    },
  ];
}

// By itself.

/** A client, once what it has subscribed to is in force. */
async function connect(port: number, topics: readonly string[]): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error("the hub cannot be reached"));
  });
  if (topics.length > 0) socket.send(JSON.stringify({ type: "__subscribe", payload: { topic: topics } }));
  socket.send(JSON.stringify({ type: "__ping", payload: null }));
  await new Promise((resolve) => socket.onmessage = resolve);
  return socket;
}

async function memory(): Promise<Row> {
  const count = 5000;
  const atOnce = 100;
  await using server = await startHub();
  const before = server.memory;
  const sockets: WebSocket[] = [];
  while (sockets.length < count) {
    const some = Array.from({ length: atOnce }, (_, i) => connect(server.port, [`user:${sockets.length + i}`]));
    sockets.push(...await Promise.all(some));
  }
  const each = (server.memory - before) * 1024 / count;
  for (const socket of sockets) socket.close();
  return {
    what: `hub: memory that a connection with one subscription takes, of ${thousands(count)}`,
    reach: "under 50 KB",
    measured: `${Math.round(each)} KB`,
  };
}

/** A hub with so many topics, each of which one of ten connections has subscribed to. */
class Topics implements AsyncDisposable {
  readonly times: number[] = [];
  readonly #server: Server;
  readonly #publisher: WebSocket;
  readonly #subscribers: readonly WebSocket[];
  readonly #topics: number;

  private constructor(server: Server, publisher: WebSocket, subscribers: readonly WebSocket[], topics: number) {
    this.#server = server;
    this.#publisher = publisher;
    this.#subscribers = subscribers;
    this.#topics = topics;
  }

  static async start(topics: number): Promise<Topics> {
    const server = await startHub();
    const subscribers: WebSocket[] = [];
    for (let i = 0; i < 10; i++) {
      subscribers.push(
        await connect(server.port, Array.from({ length: topics / 10 }, (_, n) => `user:${n * 10 + i}`)),
      );
    }
    return new Topics(server, await connect(server.port, []), subscribers, topics);
  }

  /** Publishes one event, and takes the time until the one that subscribed to it has it. */
  async measure(which: number): Promise<void> {
    const topic = which % this.#topics;
    const received = new Promise((resolve) => this.#subscribers[topic % 10].onmessage = resolve);
    const began = performance.now();
    this.#publisher.send(JSON.stringify({ type: "user", id: `${topic}`, payload: "x".repeat(100) }));
    await received;
    this.times.push(performance.now() - began);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of [this.#publisher, ...this.#subscribers]) socket.close();
    await this.#server[Symbol.asyncDispose]();
  }
}

async function topics(): Promise<Row> {
  await using few = await Topics.start(10);
  await using many = await Topics.start(100_000);
  for (let i = 0; i < 3000; i++) {
    await few.measure(i * 7919);
    await many.measure(i * 7919);
  }
  const [fewTime, manyTime] = [few, many].map(({ times }) => median(times));
  return {
    what: "hub: 100,000 topics with one subscriber each, one event to one of them",
    reach: "at most 1.5 × the time with 10 topics",
    measured: `${(manyTime / fewTime).toFixed(2)} × (${manyTime.toFixed(2)} ms to ${fewTime.toFixed(2)} ms)`,
  };
}
