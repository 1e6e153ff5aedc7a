/** Serving a bus from a program. */
import assert from "node:assert/strict";
import { BusError, MemoryBus, openBus, serve9p } from "../../mod.ts";
import { take } from "../bus/reading.ts";
import { exists, temporaryDirectory } from "../temporary.ts";

Deno.test("a bus is served at several places, until it is not", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/s`;
  await using bus = new MemoryBus();
  const serving = await serve9p(bus, [`unix:${path}`, "tcp:0"]);
  assert.equal(serving.addresses[0], `unix:${path}`);
  assert.match(serving.addresses[1], /^tcp:127\.0\.0\.1:[1-9]\d*$/);
  assert.equal((Deno.statSync(path).mode ?? 0) & 0o777, 0o600);

  const [here, there] = await Promise.all(serving.addresses.map((address) => openBus(address)));
  const colors = here.subscribe("color");
  await colors.ready;
  await there.publish("color", Uint8Array.of(0, 255));
  const [{ payload }] = await take(colors, 1);
  assert.deepEqual([...payload], [0, 255]);

  await serving[Symbol.asyncDispose]();
  await assert.rejects(colors.next(), BusError);
  await assert.rejects(there.publish("color", "red"), BusError);
  assert(!exists(path));
  await serving[Symbol.asyncDispose]();
  await here[Symbol.asyncDispose]();
  await there[Symbol.asyncDispose]();
  // The bus is the caller's still.
  assert.equal((await bus.publish("color", "red")).id, "2");
});

Deno.test("where one of the places cannot be had, none is taken", async () => {
  using directory = temporaryDirectory();
  await using bus = new MemoryBus();
  const unix = `unix:${directory.path}/s`;
  await assert.rejects(serve9p(bus, [unix, unix]), { name: "BusError", message: /another server does/ });
  assert(!exists(`${directory.path}/s`));
  await assert.rejects(serve9p(bus, [unix, directory.path]), { name: "BusError", message: /no 9P address/ });
  await using _ = await serve9p(bus, unix);
});

Deno.test("more connections than may be are refused, and told of", async () => {
  const log: string[] = [];
  await using bus = new MemoryBus();
  await using serving = await serve9p(bus, "tcp:0", { maxConnections: 1, log: (message) => log.push(message) });
  await using first = await openBus(serving.addresses[0]);
  await first.publish("color", "red");
  await using second = await openBus(serving.addresses[0]);
  await assert.rejects(second.publish("color", "green"), BusError);
  assert.deepEqual(log, ["refused a connection: there are 1, as many as may be"]);
});
