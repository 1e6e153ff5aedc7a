/**
 * Opening the bus that a confined server serves. The worker that it runs in can load no module that it was not begun with, so the
 * carrier that nobody else is to know beforehand is named here.
 *
 * @module
 */
import { parseAddress } from "../address.ts";
import type { Bus } from "../bus.ts";
import type { NatsOptions } from "../bus/nats/options.ts";
import { openBus } from "../open.ts";

/**
 * Opens the bus at an address.
 *
 * @param address as for `openBus` of `lib/open.ts`
 * @param options likewise
 * @throws {BusError} if the address is of no known kind
 */
export async function openServedBus(address: string, options: NatsOptions): Promise<Bus> {
  if (parseAddress(address).scheme !== "nats") return await openBus(address);
  const { NatsBus } = await import("../bus/nats.ts");
  return new NatsBus(address, options);
}
