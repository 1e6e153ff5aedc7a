/** What a hub tells of the buses: which one it is on, and, to those who ask, on which ones an event has been. */
import assert from "node:assert/strict";
import { newIdentity } from "../../lib/identity.ts";
import { DirectoryBus } from "../../mod.ts";
import { temporaryDirectory } from "../temporary.ts";
import { HubProcess } from "./hub_process.ts";
import { RawWebSocket } from "./raw_websocket.ts";

Deno.test("who asks is told on which buses an event has been, in the past and as it comes; nobody else is", async () => {
  using directory = temporaryDirectory();
  await using hub = await HubProcess.start(directory.path);
  const via = [newIdentity(), newIdentity()];
  using publisher = await RawWebSocket.connect(hub.port);
  const publish = async (payload: string, more: object) => {
    await publisher.say({ type: "n", payload, ref: 1, ...more });
    return (await publisher.hear()).payload;
  };
  await publish("old", { via });
  using plain = await RawWebSocket.connect(hub.port);
  using positioned = await RawWebSocket.connect(hub.port);
  using asking = await RawWebSocket.connect(hub.port);
  using askingNow = await RawWebSocket.connect(hub.port);
  await plain.subscribe("n");
  await positioned.say({ type: "__subscribe", payload: { topic: "n", replay: "all" } });
  await asking.say({ type: "__subscribe", payload: { topic: "n", replay: "all", via: true } });
  await askingNow.say({ type: "__subscribe", payload: { topic: "n", via: true } });
  await askingNow.say({ type: "__ping", payload: 1 });
  await askingNow.hear();
  const members = async (peer: RawWebSocket) => Object.keys(await peer.hear()).slice(3);
  assert.deepEqual(await members(positioned), ["at", "time"]);
  assert.deepEqual((await asking.hear() as unknown as { via: unknown }).via, via);
  assert.deepEqual([(await positioned.hear()).type, (await asking.hear()).type], ["__subscribed", "__subscribed"]);

  await publish("new", { via });
  assert.deepEqual(await members(plain), []);
  assert.deepEqual(await members(positioned), ["at", "time"]);
  assert.deepEqual(await members(asking), ["at", "time", "via"]);
  assert.deepEqual(await members(askingNow), ["at", "time", "via"]);
  await publish("of here", {});
  for (const peer of [positioned, asking, askingNow]) assert.deepEqual(await members(peer), ["at", "time"]);

  for (const wrong of [[], "x", ["x"], Array(65).fill(via[0])]) {
    const { reason, refused } = await publish("wrong", { via: wrong }) as { reason: string; refused?: boolean };
    assert.deepEqual([reason, refused], ['"via" is a list of identities of buses, 64 at most', true]);
  }
  await plain.say({ type: "__subscribe", payload: { topic: "m", via: 1 } });
  // What was published before has come first.
  assert.equal((await plain.hear()).payload, "of here");
  assert.equal((await plain.hear()).payload.reason, '"via" takes true or false');
});

Deno.test("a hub tells which bus it is on, or that the bus does not tell", async () => {
  using directory = temporaryDirectory();
  const bus = `${directory.path}/bus`;
  await using hub = await HubProcess.start(bus);
  using peer = await RawWebSocket.connect(hub.port);
  await peer.say({ type: "__identify", payload: null, ref: "r" });
  const { type, payload } = await peer.hear();
  assert.deepEqual([type, payload], ["__identity", { identity: await new DirectoryBus(bus).identity(), ref: "r" }]);

  // A bus whose file is damaged still works, but for that.
  Deno.writeTextFileSync(`${bus}/id`, "");
  await using other = await HubProcess.start(bus);
  using asking = await RawWebSocket.connect(other.port);
  await asking.say({ type: "__identify", payload: null, ref: "r" });
  const refused = await asking.hear();
  assert.deepEqual([refused.type, refused.payload.ref], ["__error", "r"]);
  assert.match(refused.payload.reason, /^cannot tell which bus .* is by .*\/id: it does not hold 32/);
});
