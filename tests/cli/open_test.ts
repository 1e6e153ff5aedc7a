import assert from "node:assert/strict";
import { openPublisher } from "../../lib/cli/open.ts";
import { openBus } from "../../lib/cli/open_bus.ts";
import { BusError, DirectoryBus, HubBus, NinepBus } from "../../mod.ts";
import { temporaryDirectory } from "../temporary.ts";

Deno.test("the command line opens what the module does", async () => {
  assert(await openBus("/tmp/a") instanceof DirectoryBus);
  for (const open of [openBus, openPublisher]) {
    assert(await open("unix:/run/ollie") instanceof NinepBus);
    assert(await open("ws://localhost:8080") instanceof HubBus);
    await assert.rejects(open("kafka://a"), BusError);
  }
});

Deno.test("what a publisher publishes is on the bus", async () => {
  using directory = temporaryDirectory();
  await using publisher = await openPublisher(directory.path);
  const { id } = await publisher.publish("color", "red");
  await using bus = await openBus(`dir:${directory.path}`);
  await using events = bus.subscribe(">", { from: "start" });
  assert.equal((await events.next()).value?.id, id);
});
