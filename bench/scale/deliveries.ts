/**
 * What an event costs a hub on NATS, by how many of its connections want it, and what a delivery does. Events come as in a large
 * system: many at once, about many things, so that a connection gets one of them.
 */
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { temporaryDirectory } from "../measure.ts";
import { NatsServer } from "../nats_server.ts";
import type { Server } from "../server.ts";
import { Client, startHub } from "./client.ts";
import { type Cost, repeated } from "./cost.ts";

const CONNECTIONS = 1000;
const FANOUTS = [1, 10, 100, 1000];
const PAYLOAD = new TextEncoder().encode("x".repeat(100));
const PREFIX = "live";
const KEPT_PREFIX = "kept";

/** How many events that nobody wants are published before one that tells that they have come. */
const UNWANTED_AT_ONCE = 1000;
const UNWANTED_TURNS = 200;
/** How often each connection gets something. */
const TURNS = 100;
/** How many events in a row each connection gets, where it gets several at once. */
const ROW = 50;
const ROW_TURNS = 4;

/** Everything about deliveries. */
export async function deliveries(): Promise<Cost[]> {
  using directory = temporaryDirectory();
  await using nats = await NatsServer.start(directory.path);
  const publisher = await connect({ servers: nats.address });
  const costs: Cost[] = [];
  {
    await using keeping = await startHub(
      "--stream",
      "KEPT",
      "--create-stream",
      `nats://${nats.address}/${KEPT_PREFIX}`,
    );
    costs.push(...await unwanted(publisher, keeping, nats, KEPT_PREFIX, ", of a stream"));
  }
  await using hub = await startHub(`nats://${nats.address}/${PREFIX}`);
  costs.unshift(...await unwanted(publisher, hub, nats, PREFIX, ""));
  for (const fanout of FANOUTS) costs.push(...await wanted(publisher, hub, fanout));
  costs.push(...await inRows(publisher, hub, false), ...await inRows(publisher, hub, true));
  await publisher.close();
  return costs;
}

/** Has the hub do something, and tells how long it was at it, in microseconds. */
async function busy(hub: Server, work: () => Promise<void>): Promise<number> {
  const before = hub.cpu;
  await work();
  return (hub.cpu - before) * 1000;
}

/** Each event has a topic of its own: in a large system a hub has seldom met one of late. */
async function unwanted(
  publisher: NatsConnection,
  hub: Server,
  nats: NatsServer,
  prefix: string,
  which: string,
): Promise<Cost[]> {
  const client = await Client.connect(`ws://127.0.0.1:${hub.port}/`);
  await client.subscribe("last");
  const what = `event that none of a hub's connections wants${which}`;
  const costs = await repeated(
    [[what, "µs CPU in the hub"], ["the same", "µs CPU in NATS' server, all that it does for it"]],
    async () => {
      const before = nats.cpu;
      const took = await busy(hub, async () => {
        for (let turn = 0; turn < UNWANTED_TURNS; turn++) {
          const last = client.next(1);
          for (let i = 0; i < UNWANTED_AT_ONCE; i++) publisher.publish(`${prefix}.other:${turn}-${i}`, PAYLOAD);
          publisher.publish(`${prefix}.last`, PAYLOAD);
          await last;
        }
      });
      return [took, (nats.cpu - before) * 1000].map((cpu) => cpu / UNWANTED_TURNS / UNWANTED_AT_ONCE);
    },
  );
  client.close();
  return costs;
}

/** Each of a thousand connections gets one event at a time; so many of them get the same. */
async function wanted(publisher: NatsConnection, hub: Server, fanout: number): Promise<Cost[]> {
  const clients = await Client.connectMany(CONNECTIONS, `ws://127.0.0.1:${hub.port}/`);
  await Promise.all(clients.map((client, i) => client.subscribe(`user:${Math.floor(i / fanout)}`)));
  const events = CONNECTIONS / fanout;
  const costs = await repeated(
    [
      [`event that ${fanout} of them want, a frame to each`, "µs CPU in the hub"],
      [`its delivery to each of ${fanout}`, "µs CPU in the hub"],
    ],
    async () => {
      const took = await busy(hub, async () => {
        for (let turn = 0; turn < TURNS; turn++) {
          const all = Promise.all(clients.map((client) => client.next(1)));
          for (let i = 0; i < events; i++) publisher.publish(`${PREFIX}.user:${i}`, PAYLOAD);
          await all;
        }
      });
      return [took / TURNS / events, took / TURNS / CONNECTIONS];
    },
  );
  for (const client of clients) client.close();
  return costs;
}

/** Each of a thousand connections gets the same events, many in a row. */
async function inRows(publisher: NatsConnection, hub: Server, batch: boolean): Promise<Cost[]> {
  const clients = await Client.connectMany(CONNECTIONS, `ws://127.0.0.1:${hub.port}/`, batch);
  await Promise.all(clients.map((client) => client.subscribe("row")));
  const what = batch ? "the same to connections that take batches" : `delivery to each of 1000, ${ROW} events in a row`;
  const costs = await repeated([[what, "µs CPU in the hub"]], async () => {
    const took = await busy(hub, async () => {
      for (let turn = 0; turn < ROW_TURNS; turn++) {
        const all = Promise.all(clients.map((client) => client.next(ROW)));
        for (let i = 0; i < ROW; i++) publisher.publish(`${PREFIX}.row`, PAYLOAD);
        await all;
      }
    });
    return [took / ROW_TURNS / ROW / CONNECTIONS];
  });
  for (const client of clients) client.close();
  return costs;
}
