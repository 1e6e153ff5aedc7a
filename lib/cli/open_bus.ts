/**
 * Opening a bus for who subscribes, of which no more is loaded than what carries it.
 *
 * @module
 */
import { parseAddress } from "../address.ts";
import type { Bus } from "../bus.ts";
import { DirectoryBus } from "../bus/directory.ts";
import type { NatsOptions } from "../bus/nats/options.ts";
import { openElsewhere } from "./open.ts";

/**
 * Opens the bus at an address.
 *
 * @param address as for `openBus` of `lib/open.ts`
 * @param options likewise
 * @throws {BusError} if the address is of no known kind
 */
export async function openBus(address: string, options: NatsOptions = {}): Promise<Bus> {
  const { scheme, rest } = parseAddress(address);
  return scheme === "dir" ? new DirectoryBus(rest) : await openElsewhere(address, options);
}
