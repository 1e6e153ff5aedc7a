/**
 * Opening a bus for `ollie pub` and `ollie sub`, which start often: they load what carries a directory, and publishing loads even
 * less than that. All else is as large as the rest of the program together, and is loaded only when it is asked for.
 *
 * @module
 */
import { parseAddress } from "../address.ts";
import type { Bus, Publisher } from "../bus.ts";
import type { NatsOptions } from "../bus/nats/options.ts";

/**
 * Opens the bus at an address.
 *
 * @param address as for `openBus` of `lib/open.ts`
 * @param options likewise
 * @throws {BusError} if the address is of no known kind
 */
export async function openBus(address: string, options: NatsOptions = {}): Promise<Bus> {
  const { scheme, rest } = parseAddress(address);
  if (scheme !== "dir") return await openElsewhere(address, options);
  const { DirectoryBus } = await import("../bus/directory.ts");
  return new DirectoryBus(rest);
}

/**
 * Opens the bus at an address for somebody who only publishes.
 *
 * @param address as for `openBus` of `lib/open.ts`
 * @param options likewise
 * @throws {BusError} if the address is of no known kind
 */
export async function openPublisher(address: string, options: NatsOptions = {}): Promise<Publisher> {
  const { scheme, rest } = parseAddress(address);
  if (scheme !== "dir") return await openElsewhere(address, options);
  const { DirectoryPublisher } = await import("../bus/directory/publish.ts");
  return new DirectoryPublisher(rest);
}

async function openElsewhere(address: string, options: NatsOptions = {}): Promise<Bus> {
  // Found only now, and not by whoever reads a program's imports before it starts.
  const open: typeof import("../open.ts") = await import(new URL("../open.ts", import.meta.url).href);
  return await open.openBus(address, options);
}
