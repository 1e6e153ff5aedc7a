/**
 * Finding the bus that an address stands for. Each carrier is loaded only when it is asked for, so that a program which
 * publishes one event into a directory starts no slower for all the others.
 *
 * @module
 */
import { type Bus, BusError, type Publisher } from "./bus.ts";

/**
 * Opens the bus at an address.
 *
 * | address | carrier |
 * | --- | --- |
 * | a path, or `dir:PATH` | a directory |
 * | `mem:` | a new bus within this process |
 * | `unix:PATH`, `tcp:HOST:PORT` | the files of a 9P server, such as `ollie serve9p` |
 * | `ws://HOST:PORT`, `wss://HOST` | a hub, such as `ollie hub`; its token may stand before the host, as in `ws://:TOKEN@HOST` |
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
  const { scheme, rest } = parseAddress(address);
  if (scheme === "mem") {
    const { MemoryBus } = await import("./bus/memory.ts");
    return new MemoryBus();
  }
  if (scheme === "9p") {
    // Found only now, and not by whoever reads a program's imports before it starts: it is as large as all else together.
    const ninep: typeof import("./bus/ninep.ts") = await import(new URL("./bus/ninep.ts", import.meta.url).href);
    return new ninep.NinepBus(address);
  }
  if (scheme === "ws") {
    const hub: typeof import("./bus/hub.ts") = await import(new URL("./bus/hub.ts", import.meta.url).href);
    return new hub.HubBus(address);
  }
  const { DirectoryBus } = await import("./bus/directory.ts");
  return new DirectoryBus(rest);
}

/**
 * Opens the bus at an address for somebody who only publishes: that may load less than the whole.
 *
 * @param address as for {@linkcode openBus}
 * @throws {BusError} if the address is of no known kind
 *
 * @example
 * ```ts
 * import { openPublisher } from "@ollie/ollie";
 *
 * await using publisher = await openPublisher(Deno.makeTempDirSync());
 * await publisher.publish("color", "red");
 * ```
 */
export async function openPublisher(address: string): Promise<Publisher> {
  const { scheme, rest } = parseAddress(address);
  if (scheme !== "dir") return await openBus(address);
  const { DirectoryPublisher } = await import("./bus/directory/publish.ts");
  return new DirectoryPublisher(rest);
}

/** How those addresses begin that are not a directory's. */
export const ADDRESS_PREFIXES = ["mem:", "unix:", "tcp:", "ws://", "wss://"] as const;

/** The kinds of buses. */
export type BusScheme = "dir" | "mem" | "9p" | "ws";

/**
 * What kind of bus an address is of, and what it says beyond that.
 *
 * @param address as for {@linkcode openBus}
 * @throws {BusError} if it is of no known kind
 */
export function parseAddress(address: string): { scheme: BusScheme; rest: string } {
  // Plan 9 writes ! for :, and no directory should come about by that.
  if (/^(unix|tcp)[:!]/.test(address)) return { scheme: "9p", rest: address };
  if (/^wss?:/i.test(address)) return { scheme: "ws", rest: address };
  const [, scheme = "dir", rest = address] = /^([a-z][a-z0-9+.-]+):(.*)$/is.exec(address) ?? [];
  if (scheme === "dir") {
    if (rest === "") throw new BusError("the bus has no name: for the current directory, say .");
  } else if (scheme === "mem") {
    if (rest !== "") throw new BusError(`${JSON.stringify(address)} is not a bus: mem: is followed by nothing`);
  } else {
    throw new BusError(
      `${JSON.stringify(address)} is not a bus that this ollie knows: it knows directories and ` +
        `${ADDRESS_PREFIXES.join(", ")} (a directory that is called so is dir:${address})`,
    );
  }
  return { scheme, rest };
}
