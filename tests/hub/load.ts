/**
 * A hub under load: clients that read, and as many that subscribe and never read. What comes out is whether the readers had
 * everything, how the others were ended, and what memory the hub had.
 *
 * Run by itself it measures the load that the hub is meant for: 200 of each, 1 MB/s for 20 s.
 */
import { until } from "../deadline.ts";
import { HubProcess } from "./hub_process.ts";
import { RawWebSocket } from "./raw_websocket.ts";

/** What to put on a hub. */
export interface Load {
  /** How many clients read, and how many do not. */
  readonly clients: number;
  /** How long an event is, in bytes. */
  readonly eventBytes: number;
  /** How many events there are at least; more follow until all who do not read have been ended. */
  readonly events: number;
  /** How many events a second; as fast as the readers read if not given. */
  readonly eventsPerSecond?: number;
  /** The readers' subprotocols. */
  readonly protocols?: readonly string[];
  /** What the hub is started with. */
  readonly args: readonly string[];
  /** Is told what goes on. */
  readonly log?: (line: string) => void;
}

/** What came of it. Memory is in bytes. */
export interface LoadResult {
  /** How many events were published. */
  readonly events: number;
  /** How many of them each reader had, in order, when the first was missing or all had come. */
  readonly read: readonly number[];
  /** What was counted as slow consumers. */
  readonly slowConsumers: number;
  /** How many sockets were open then, ended by the hub or not. */
  readonly sockets: number;
  /** Before anybody came, and when all had subscribed. */
  readonly before: number;
  readonly connected: number;
  /** The most while events were published. */
  readonly peak: number;
  /** After the last event; and when all clients have gone and it has settled, or a minute has passed. */
  readonly after: number;
  readonly gone: number;
}

/** How much more than before may be left, in bytes. */
export const LEFT_BYTES = 30_000_000;

/** Reads events until one is not the next, or all have come. */
class Reader {
  readonly peer: RawWebSocket;
  #read = 0;
  #wrong = false;

  constructor(peer: RawWebSocket) {
    this.peer = peer;
    this.#run().catch(() => this.#wrong = true);
  }

  /** How many have come, in order. */
  get read(): number {
    return this.#read;
  }

  /** Whether nothing more will come. */
  get ended(): boolean {
    return this.#wrong;
  }

  async #run(): Promise<void> {
    for (;;) {
      for (const line of (await this.peer.text()).split("\n")) {
        if (!line.startsWith(`{"type":"n","id":"","payload":"${this.#read} `)) throw new Error(line.slice(0, 100));
        this.#read++;
      }
    }
  }
}

/** Puts a load on a hub of its own. */
export async function underLoad(load: Load): Promise<LoadResult> {
  const { clients, eventBytes, log = () => {} } = load;
  await using hub = await HubProcess.start(...load.args);
  // The first requests make what stays for good.
  await hub.metric("sockets");
  const before = hub.memory;
  const readers: Reader[] = [];
  const sleepers: RawWebSocket[] = [];
  const publisher = await RawWebSocket.connect(hub.port);
  try {
    for (let i = 0; i < clients; i++) {
      const reader = await RawWebSocket.connect(hub.port, { protocols: load.protocols });
      await reader.subscribe("n");
      readers.push(new Reader(reader));
      const sleeper = await RawWebSocket.connect(hub.port);
      await sleeper.subscribe("n");
      sleepers.push(sleeper);
    }
    const connected = hub.memory;
    log(`${2 * clients} have subscribed: ${megabytes(connected)}, from ${megabytes(before)}`);
    const began = performance.now();
    let peak = connected;
    let events = 0;
    let due = began;
    for (let slow = 0; events < load.events || slow < clients;) {
      for (let i = 0; i < 20; i++) {
        const payload = `${events++} `.padEnd(eventBytes, "x");
        await publisher.say({ type: "n", payload });
      }
      if (load.eventsPerSecond !== undefined) {
        // What a busy machine was late with is not made up for: that would be another load.
        due = Math.max(due + 20_000 / load.eventsPerSecond, performance.now());
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
      } else {
        await until("what the readers are due", () => readers.every(({ read, ended }) => ended || read === events));
      }
      peak = Math.max(peak, hub.memory);
      slow = await hub.metric("slow_consumers_total");
      if (events % 200 === 0) {
        const queued = await hub.metric("queued_bytes");
        log(`${events} events: ${slow} slow, ${megabytes(hub.memory)}, of which ${megabytes(queued)} wait`);
      }
      if (readers.every(({ ended }) => ended)) break;
    }
    await until("the last event", () => readers.every(({ read, ended }) => ended || read === events));
    const seconds = (performance.now() - began) / 1000;
    log(
      `${events} events of ${eventBytes} bytes to ${clients} readers took ${
        seconds.toFixed(1)
      } s, and ${hub.processorTime} s of a processor`,
    );
    const [slowConsumers, sockets] = [await hub.metric("slow_consumers_total"), await hub.metric("sockets")];
    const after = hub.memory;
    log(`after the last: ${megabytes(after)}, at most ${megabytes(peak)}; ${sockets} sockets`);
    for (const { peer } of readers) peer[Symbol.dispose]();
    for (const sleeper of [publisher, ...sleepers]) sleeper[Symbol.dispose]();
    await hub.untilMetric("sockets", 0);
    let gone = hub.memory;
    for (let i = 0; i < 60 && gone > before + LEFT_BYTES; i++) {
      if (i % 10 === 0) log(`${i} s after all have gone: ${megabytes(gone)}`);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      gone = hub.memory;
    }
    log(`settled: ${megabytes(gone)}, ${megabytes(gone - before)} more than before`);
    return {
      events,
      read: readers.map(({ read }) => read),
      slowConsumers,
      sockets,
      before,
      connected,
      peak,
      after,
      gone,
    };
  } finally {
    for (const { peer } of readers) peer[Symbol.dispose]();
    for (const sleeper of [publisher, ...sleepers]) sleeper[Symbol.dispose]();
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

if (import.meta.main) {
  const [eventBytes = "10000", ...args] = Deno.args;
  const eventsPerSecond = 1_000_000 / Number(eventBytes);
  const { events, read, slowConsumers } = await underLoad({
    clients: 200,
    eventBytes: Number(eventBytes),
    events: 20 * eventsPerSecond,
    eventsPerSecond,
    protocols: args.includes("batch") ? ["ollie.batch.v1"] : [],
    args: args.filter((arg) => arg !== "batch"),
    log: console.log,
  });
  const whole = read.filter((count) => count === events).length;
  console.log(`${whole} of ${read.length} readers had all of ${events} events, ${slowConsumers} were ended as slow`);
}
