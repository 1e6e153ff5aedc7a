/**
 * Finding the bus that an address stands for.
 *
 * Each carrier is loaded only when it is asked for, but by its name: so a program that has been bundled or compiled, or may load
 * nothing more, has them all at hand. (`ollie pub` and `ollie sub` do not even want to know them beforehand: they have
 * `cli/open.ts`.)
 *
 * @module
 */
import { parseAddress, withoutLogin } from "./address.ts";
import { type Bus, BusError } from "./bus.ts";
import type { NatsOptions } from "./bus/nats/options.ts";

/**
 * Opens the bus at an address.
 *
 * | address | carrier | where it runs |
 * | --- | --- | --- |
 * | a path, or `dir:PATH` | a directory | Deno |
 * | `mem:` | a new bus within this process | anywhere |
 * | `unix:PATH`, `tcp:HOST:PORT` | the files of a 9P server, such as `ollie serve9p` | Deno |
 * | `ws://HOST:PORT`, `wss://HOST` | a hub, such as `ollie hub`; its token may stand before the host, as in `ws://:TOKEN@HOST` | anywhere |
 * | `nats://HOST:PORT/PREFIX`, `tls://…` | NATS, below a prefix; `USER:PASSWORD@` may stand before the host | Deno |
 *
 * @param address which bus
 * @param options what the address of a NATS bus does not say
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
export async function openBus(address: string, options: NatsOptions = {}): Promise<Bus> {
  const { scheme, rest } = parseAddress(address);
  switch (scheme) {
    case "mem": {
      const { MemoryBus } = await import("./bus/memory.ts");
      return new MemoryBus();
    }
    case "ws": {
      const { HubBus } = await import("./bus/hub.ts");
      return new HubBus(address);
    }
    case "9p": {
      checkRuntime(address);
      const { NinepBus } = await import("./bus/ninep.ts");
      return new NinepBus(address);
    }
    case "nats": {
      checkRuntime(address);
      // The one carrier that has code of others, which nobody is to load, or to have at all, who does not use it.
      const nats: typeof import("./bus/nats.ts") = await import(new URL("./bus/nats.ts", import.meta.url).href);
      return new nats.NatsBus(address, options);
    }
    case "dir": {
      checkRuntime(address);
      const { DirectoryBus } = await import("./bus/directory.ts");
      return new DirectoryBus(rest);
    }
  }
}

/** Files and sockets are those of Deno. */
function checkRuntime(address: string): void {
  if ("Deno" in globalThis) return;
  throw new BusError(
    `${
      JSON.stringify(withoutLogin(address))
    } is a bus for programs in Deno: elsewhere there are mem:, ws: and wss: (ollie hub)`,
  );
}
