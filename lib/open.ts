/**
 * Finding the bus that an address stands for.
 *
 * What carries it is imported plainly, by name: whoever imports this has all of it at hand, also where a program has been
 * bundled or compiled, or may load nothing more. (`ollie pub`, whose start-up is its use, has `cli/open.ts`.)
 *
 * @module
 */
import { parseAddress } from "./address.ts";
import { type Bus, BusError } from "./bus.ts";
import { DirectoryBus } from "./bus/directory.ts";
import { HubBus } from "./bus/hub.ts";
import { MemoryBus } from "./bus/memory.ts";
import { NinepBus } from "./bus/ninep.ts";

/**
 * Opens the bus at an address.
 *
 * | address | carrier | where it runs |
 * | --- | --- | --- |
 * | a path, or `dir:PATH` | a directory | Deno |
 * | `mem:` | a new bus within this process | anywhere |
 * | `unix:PATH`, `tcp:HOST:PORT` | the files of a 9P server, such as `ollie serve9p` | Deno |
 * | `ws://HOST:PORT`, `wss://HOST` | a hub, such as `ollie hub`; its token may stand before the host, as in `ws://:TOKEN@HOST` | anywhere |
 *
 * @param address which bus
 * @returns the bus, which has connected to nothing and made nothing yet
 * @throws {BusError} if the address is of no known kind, or of one that is not for this runtime
 *
 * @example
 * ```ts
 * import { openBus } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * await using bus = await openBus("mem:");
 * await using events = bus.subscribe(">");
 * await bus.publish("color", "red");
 * for await (const event of events) {
 *   assert.equal(event.topic, "color");
 *   break;
 * }
 * ```
 */
// deno-lint-ignore require-await -- so that a refusal is a rejection, and that a carrier may come to need a moment
export async function openBus(address: string): Promise<Bus> {
  const { scheme, rest } = parseAddress(address);
  switch (scheme) {
    case "mem":
      return new MemoryBus();
    case "ws":
      return new HubBus(address);
    case "9p":
      checkRuntime(address);
      return new NinepBus(address);
    case "dir":
      checkRuntime(address);
      return new DirectoryBus(rest);
  }
}

/** Files and sockets are those of Deno. */
function checkRuntime(address: string): void {
  if ("Deno" in globalThis) return;
  throw new BusError(
    `${JSON.stringify(address)} is a bus for programs in Deno: elsewhere there are mem:, ws: and wss: (ollie hub)`,
  );
}
