import assert from "node:assert/strict";
import { BusError, DirectoryBus, MemoryBus, NinepBus, openBus, openPublisher } from "../mod.ts";
import { temporaryDirectory } from "./temporary.ts";

Deno.test("an address picks its carrier", async () => {
  assert(await openBus("mem:") instanceof MemoryBus);
  for (
    const address of ["unix:/run/ollie", "tcp:localhost:5640", "tcp:5640", "unix!/run/ollie", "tcp!localhost!5640"]
  ) assert(await openBus(address) instanceof NinepBus);
  for (const address of ["/tmp/a", "a", ".", "dir:/tmp/a", "dir:mem:", "./mem:", "C:\\a"]) {
    assert(await openBus(address) instanceof DirectoryBus, address);
  }
});

Deno.test("an address of no known kind is refused", async () => {
  for (const address of ["kafka://a", "mem:x", "dir:", "", "tcp:localhost", "unix:"]) {
    await assert.rejects(openBus(address), BusError);
    await assert.rejects(openPublisher(address), BusError);
  }
  await assert.rejects(openBus("my:dir"), /"my:dir" is not a bus .* dir:my:dir/);
});

Deno.test("what a publisher publishes is on the bus", async () => {
  using directory = temporaryDirectory();
  await using publisher = await openPublisher(directory.path);
  const { id } = await publisher.publish("color", "red");
  await using bus = await openBus(`dir:${directory.path}`);
  await using events = bus.subscribe(">", { from: "start" });
  assert.equal((await events.next()).value?.id, id);
});
