/** What becomes of the subscriptions of a connection that ends while it is given the past. */
import assert from "node:assert/strict";
import { type Bus, DirectoryBus, Hub, type Subscription } from "../../mod.ts";
import { until } from "../deadline.ts";
import { temporaryDirectory } from "../temporary.ts";

/** A bus that knows which of its subscriptions have not ended. */
function watched(bus: Bus): { bus: Bus; open: Set<Subscription> } {
  const open = new Set<Subscription>();
  return {
    open,
    bus: {
      publish: (topic, payload) => bus.publish(topic, payload),
      subscribe(filter, options) {
        const subscription = bus.subscribe(filter, options);
        const end = subscription.return.bind(subscription);
        open.add(subscription);
        subscription.return = () => {
          open.delete(subscription);
          return end();
        };
        return subscription;
      },
      identity: () => bus.identity(),
      [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose](),
    },
  };
}

Deno.test("who goes while it is given the past leaves no subscription behind", async () => {
  using directory = temporaryDirectory();
  await using carrier = new DirectoryBus(directory.path);
  for (let i = 0; i < 500; i++) await carrier.publish("n", "x".repeat(1000));
  const { bus, open } = watched(carrier);
  const hub = new Hub(bus);
  await hub.ready;
  assert.equal(open.size, 1);

  // It takes what it is handed, and sends none of it.
  let taken = 0;
  let hears: (event: { data: unknown }) => void = () => {};
  const socket = {
    get bufferedAmount() {
      return taken;
    },
    send: (text: string) => void (taken += text.length),
    close() {},
    addEventListener(type: string, listener: (event: { data: unknown }) => void) {
      if (type === "message") hears = listener;
    },
  };
  hub.addConnection(socket);
  hears({ data: '{"type":"__subscribe","payload":{"topic":["n","m"],"replay":"all"}}' });
  await until("the past, as far as there is room", () => taken > 0);
  assert.equal(open.size, 2);
  // What is published meanwhile is left to the history, and so is what it is for.
  await hub.publish("m", "");
  await until("the hub's own receipt", () => hub.position?.id.endsWith("_m") === true);

  hub.removeConnection(socket);
  assert.equal(open.size, 1);
  assert.deepEqual([hub.stats.connections, hub.stats.subscriptions], [0, 0]);
  await hub.close();
  assert.equal(open.size, 0);
});
