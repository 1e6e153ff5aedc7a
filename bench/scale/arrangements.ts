/**
 * Arrangements of hubs and NATS servers: how long an event takes from a client of one hub to a client of another, and what that
 * costs each process on its way.
 */
import { connect } from "@nats-io/transport-node";
import { quantile, temporaryDirectory } from "../measure.ts";
import { makeStream, NatsServer } from "../nats_server.ts";
import type { Server } from "../server.ts";
import { Client, startHub } from "./client.ts";
import { quiet, shown } from "./cost.ts";

/** How often each is measured, in turn with the others, and how many events are sent, one after another and many at once. */
const ROUNDS = 6;
const SINGLE = 400;
const AT_ONCE = 100;
const TURNS = 100;

const PAYLOAD = "x".repeat(100);

/** From one hub, by some servers, to one hub, which may be the same. */
interface Arrangement {
  readonly what: string;
  readonly from: Server;
  readonly by: readonly NatsServer[];
  readonly to: Server;
}

/** Its two clients, and what was measured. */
interface Measured extends Arrangement {
  readonly publisher: Client;
  readonly subscriber: Client;
  readonly times: number[];
  /** In microseconds an event: in the publishing hub, all servers, and the receiving hub. */
  readonly costs: [number[], number[], number[]];
}

/** A table of its own. */
export async function arrangements(): Promise<string[]> {
  using directory = temporaryDirectory();
  await using stack = new AsyncDisposableStack();
  const all: Measured[] = [];
  for (const arrangement of await start(directory.path, stack)) {
    const publisher = await Client.connect(`ws://127.0.0.1:${arrangement.from.port}/`);
    const subscriber = await Client.connect(`ws://127.0.0.1:${arrangement.to.port}/`);
    await subscriber.subscribe("color");
    all.push({ ...arrangement, publisher, subscriber, times: [], costs: [[], [], []] });
  }
  for (let round = 0; round <= ROUNDS; round++) {
    for (const measured of all) {
      await quiet();
      await measure(measured);
      // The first round is for the compilers.
      if (round > 0) continue;
      measured.times.splice(0);
      for (const cost of measured.costs) cost.splice(0);
    }
  }
  for (const { publisher, subscriber } of all) [publisher, subscriber].forEach((client) => client.close());
  return [
    "| arrangement | time, median | 99th percentile | µs CPU in the hub that publishes | in all servers | in the hub that delivers |",
    "| --- | --- | --- | --- | --- | --- |",
    ...all.map(({ what, from, to, times, costs: [publishing, between, delivering] }) => {
      const time = (share: number) => `${quantile(times, share).toFixed(2)} ms`;
      const hubs = from === to ? [shown(publishing), "", "the same"] : [publishing, between, delivering].map(shown);
      return `| ${[what, time(0.5), time(0.99), ...hubs].join(" | ")} |`;
    }),
  ];
}

async function start(directory: string, stack: AsyncDisposableStack): Promise<Arrangement[]> {
  const hub = async (...args: string[]) => stack.use(await startHub(...args));
  const alone = stack.use(await NatsServer.start(`${directory}/alone`));
  const cluster = await NatsServer.cluster(`${directory}/cluster`);
  for (const server of cluster) stack.use(server);
  const single = async (what: string, ...args: string[]) => {
    const both = await hub(...args);
    return { what, from: both, by: [], to: both };
  };
  const pair = async (what: string, by: readonly NatsServer[], prefix: string, ...args: string[]) => {
    const [from, to] = [by[0], by.at(-1) ?? by[0]].map(({ address }) => hub(...args, `nats://${address}/${prefix}`));
    return { what, from: await from, by, to: await to };
  };
  const kept = async (by: readonly NatsServer[], replicas: number) => {
    const name = `R${replicas}`;
    const prefix = `kept${replicas}`;
    const client = await connect({ servers: by[0].address });
    await makeStream(client, name, prefix, replicas);
    await client.close();
    return [prefix, "--stream", name] as const;
  };
  return [
    await single("one hub on `mem:`", "mem:"),
    await single("one hub on a directory", `${directory}/bus`),
    await pair("two hubs on one NATS", [alone], "live"),
    await pair("the same, with a stream", [alone], ...await kept([alone], 1)),
    await pair("two hubs on two of three NATS in a cluster", cluster, "live"),
    await pair("the same, with a stream that is kept once", cluster, ...await kept(cluster, 1)),
    await pair("the same, with a stream that is kept three times", cluster, ...await kept(cluster, 3)),
  ];
}

async function measure({ from, by, to, publisher, subscriber, times, costs }: Measured): Promise<void> {
  for (let i = 0; i < SINGLE; i++) {
    const came = subscriber.next(1);
    const began = performance.now();
    publisher.publish("color", PAYLOAD);
    await came;
    times.push(performance.now() - began);
  }
  const looks = () => [from.cpu, by.reduce((sum, { cpu }) => sum + cpu, 0), to.cpu];
  const before = looks();
  for (let turn = 0; turn < TURNS; turn++) {
    const came = subscriber.next(AT_ONCE);
    for (let i = 0; i < AT_ONCE; i++) publisher.publish("color", PAYLOAD);
    await came;
  }
  looks().forEach((cpu, at) => costs[at].push((cpu - before[at]) * 1000 / TURNS / AT_ONCE));
}
