import assert from "node:assert/strict";
import { BusError, DirectoryBus, MemoryBus, NinepBus, openBus } from "../mod.ts";

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
  }
  await assert.rejects(openBus("my:dir"), /"my:dir" is not a bus .* dir:my:dir/);
});
