/**
 * Finding the bus that an address stands for. Each carrier is loaded only when it is asked for, so that a program which
 * publishes one event into a directory starts no slower for all the others.
 *
 * @module
 */
import { type Bus, BusError } from "./bus.ts";

/**
 * Opens the bus at an address.
 *
 * | address | carrier |
 * | --- | --- |
 * | a path, or `dir:PATH` | a directory |
 * | `mem:` | a new bus within this process |
 *
 * @param address which bus
 * @throws {BusError} if the address is of no known kind
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
export async function openBus(address: string): Promise<Bus> {
  // A single letter is a drive of Windows, not a scheme.
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(address)?.[1];
  switch (scheme) {
    case undefined:
      return await openDirectory(address);
    case "dir":
      return await openDirectory(address.slice("dir:".length));
    case "mem": {
      if (address !== "mem:") throw new BusError(`${JSON.stringify(address)} is not a bus: mem: has no name`);
      const { MemoryBus } = await import("./bus/memory.ts");
      return new MemoryBus();
    }
    default:
      throw new BusError(
        `${JSON.stringify(address)} is not a bus that this ollie knows: it knows directories and mem: ` +
          `(a directory whose name starts so is dir:${address})`,
      );
  }
}

async function openDirectory(path: string): Promise<Bus> {
  if (path === "") throw new BusError("the bus has no name: for the current directory, say .");
  const { DirectoryBus } = await import("./bus/directory.ts");
  return new DirectoryBus(path);
}
