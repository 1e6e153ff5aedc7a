/** The hub without its sockets: what an event costs by itself, from the frame that publishes it to those that it goes to. */
import { Hub, MemoryBus } from "../mod.ts";
import { type Row, thousands, timed } from "./measure.ts";

const EVENTS = 1_000_000;

/** How many connections there are, and how many of them are subscribed to each topic. */
const CONNECTIONS = 1000;
const SUBSCRIBERS = 10;

/** How many events are published before the connections get their turn. */
const AT_ONCE = 1000;

/** A million events through a `Hub`, ten connections each. */
export async function fanout(): Promise<Row[]> {
  await using bus = new MemoryBus();
  const hub = new Hub(bus);
  await hub.ready;
  let delivered = 0;
  const sockets = Array.from({ length: CONNECTIONS }, () => ({
    send: () => delivered++,
    close: () => {},
    readyState: 1,
    bufferedAmount: 0,
  }));
  const topics = CONNECTIONS / SUBSCRIBERS;
  sockets.forEach((socket, i) => {
    hub.addConnection(socket);
    hub.receive(socket, JSON.stringify({ type: "__subscribe", payload: { topic: `user:${i % topics}` } }));
  });
  const [publisher] = sockets;
  const frames = Array.from(
    { length: topics },
    (_, i) => JSON.stringify({ type: "user", id: `${i}`, payload: "x".repeat(100) }),
  );
  const took = await timed(async () => {
    for (let sent = 0; sent < EVENTS;) {
      for (const until = sent + AT_ONCE; sent < until; sent++) hub.receive(publisher, frames[sent % topics]);
      while (delivered < sent * SUBSCRIBERS) await new Promise((resolve) => setTimeout(resolve));
    }
  });
  await hub.close();
  return [{
    what: `hub: a million events through \`Hub\` alone, no sockets, ${SUBSCRIBERS} connections each`,
    reach: "at least 500,000 deliveries/s",
    measured: `${thousands(delivered / took * 1000)} deliveries/s`,
  }];
}
