/**
 * What NATS itself costs: an event that it takes, each copy of it, its way from one server of a cluster to another, a subscription,
 * and an event in a stream that is kept once or three times.
 */
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { jetstream } from "@nats-io/jetstream";
import { temporaryDirectory, timed } from "../measure.ts";
import { makeStream, NatsServer } from "../nats_server.ts";
import { type Cost, repeated } from "./cost.ts";

const EVENTS = 1_000_000;
/** How many events are published before they are waited for. */
const AT_ONCE = 1000;
const COPIES = 8;
const SUBSCRIPTIONS = 200_000;
const KEPT = 50_000;
const PAYLOAD = new Uint8Array(100).fill(120);

/** For how long servers are watched that are to have nothing more to do, in milliseconds. */
const SETTLED_MS = 500;

/** Everything about NATS' servers. */
export async function servers(): Promise<Cost[]> {
  await using cluster = await Cluster.start();
  return [...await copies(cluster), ...await subscriptions(), ...await streams(cluster)];
}

/** Three servers, and a client of each. */
class Cluster implements AsyncDisposable {
  readonly servers: readonly NatsServer[];
  readonly clients: readonly NatsConnection[];
  readonly #directory: Disposable;

  private constructor(servers: readonly NatsServer[], clients: readonly NatsConnection[], directory: Disposable) {
    this.servers = servers;
    this.clients = clients;
    this.#directory = directory;
  }

  static async start(): Promise<Cluster> {
    const directory = temporaryDirectory();
    const servers = await NatsServer.cluster(directory.path);
    const clients = await Promise.all(servers.map(({ address }) => connect({ servers: address })));
    return new Cluster(servers, clients, directory);
  }

  /** How long its servers are at something, each, in microseconds. */
  async busy(work: () => Promise<void>): Promise<number[]> {
    const before = this.servers.map(({ cpu }) => cpu);
    await work();
    return this.servers.map(({ cpu }, i) => (cpu - before[i]) * 1000);
  }

  /** Waits until they have nothing more to do. */
  async settled(): Promise<void> {
    const sum = () => this.servers.reduce((total, { cpu }) => total + cpu, 0);
    for (let before = sum();; before = sum()) {
      await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
      // Those that have nothing to do look around at times.
      if (sum() - before <= SETTLED_MS * 0.05) return;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close()));
    await Promise.all(this.servers.map((server) => server[Symbol.asyncDispose]()));
    this.#directory[Symbol.dispose]();
  }
}

/** Publishes many events, and waits for the last to have come to all that subscribed. */
async function publishAll(publisher: NatsConnection, subscribers: readonly NatsConnection[]): Promise<void> {
  for (let sent = 0; sent < EVENTS; sent += AT_ONCE) {
    for (let i = 0; i < AT_ONCE; i++) publisher.publish("copies.color", PAYLOAD);
    await publisher.flush();
    await Promise.all(subscribers.map((subscriber) => subscriber.flush()));
  }
}

function copies(cluster: Cluster): Promise<Cost[]> {
  const { servers: [{ address }], clients: [one, other] } = cluster;
  return repeated(
    [
      ["NATS: to take an event", "µs CPU in its server"],
      ["NATS: each copy of an event to a hub", "µs CPU in its server"],
      ["NATS: an event to another server of the cluster", "µs CPU in the sending server"],
      ["NATS: the same, and the copy to a hub there", "µs CPU in the receiving server"],
    ],
    async () => {
      const [none] = await cluster.busy(() => publishAll(one, []));
      const readers = await Promise.all(
        Array.from({ length: COPIES }, () => connect({ servers: address })),
      );
      for (const reader of readers) reader.subscribe("copies.>", { callback: () => {} });
      await Promise.all(readers.map((reader) => reader.flush()));
      const [some] = await cluster.busy(() => publishAll(one, readers));
      await Promise.all(readers.map((reader) => reader.close()));
      const subscription = other.subscribe("copies.>", { callback: () => {} });
      await other.flush();
      const [sender, receiver] = await cluster.busy(() => publishAll(one, [other]));
      subscription.unsubscribe();
      await other.flush();
      return [none / EVENTS, (some - none) / EVENTS / COPIES, (sender - none) / EVENTS, receiver / EVENTS];
    },
  );
}

function subscriptions(): Promise<Cost[]> {
  return repeated(
    [
      ["NATS: a subscription", "µs CPU in its server"],
      ["NATS: a subscription", "KB in its server"],
      ["NATS: a subscription", "µs CPU in each other server of the cluster"],
      ["NATS: a subscription", "KB in each other server of the cluster"],
    ],
    async () => {
      // In others, memory that was used before would be used again.
      await using cluster = await Cluster.start();
      const { servers, clients: [client] } = cluster;
      await cluster.settled();
      const before = servers.map(({ memory }) => memory);
      const [own, other] = await cluster.busy(async () => {
        for (let i = 0; i < SUBSCRIPTIONS; i++) client.subscribe(`interest.user:${i}`, { callback: () => {} });
        await client.flush();
        await cluster.settled();
      });
      const grown = servers.map(({ memory }, i) => (memory - before[i]) * 1024 / SUBSCRIPTIONS);
      return [own / SUBSCRIPTIONS, grown[0], other / SUBSCRIPTIONS, grown[1]];
    },
    3,
  );
}

async function streams(cluster: Cluster): Promise<Cost[]> {
  const [client] = cluster.clients;
  for (const replicas of [1, 3]) await makeStream(client, `R${replicas}`, `kept${replicas}`, replicas);
  const stream = jetstream(client);
  const costs = await repeated(
    [
      ["JetStream: an event in a stream that is kept once", "µs CPU in all three servers"],
      ["JetStream: an event in a stream that is kept three times", "µs CPU in all three servers"],
      ["JetStream: events a second, kept once, 1,000 at a time", "/s"],
      ["JetStream: events a second, kept three times", "× that"],
    ],
    async () => {
      const took: { cpu: number; milliseconds: number }[] = [];
      for (const replicas of [1, 3]) {
        let milliseconds = 0;
        const each = await cluster.busy(async () => {
          milliseconds = await timed(async () => {
            for (let sent = 0; sent < KEPT; sent += AT_ONCE) {
              const publish = () => stream.publish(`kept${replicas}.color`, PAYLOAD, { timeout: 30_000 });
              await Promise.all(Array.from({ length: AT_ONCE }, publish));
            }
          });
        });
        took.push({ cpu: each.reduce((sum, one) => sum + one, 0), milliseconds });
      }
      const [once, thrice] = took;
      return [
        once.cpu / KEPT,
        thrice.cpu / KEPT,
        KEPT / once.milliseconds * 1000,
        once.milliseconds / thrice.milliseconds,
      ];
    },
  );
  return costs;
}
