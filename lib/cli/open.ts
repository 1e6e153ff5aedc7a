/**
 * The BUS of a command line: what options say of it, and opening it for `ollie pub`, which starts often. It loads what publishes into
 * a directory. All else is as large as the rest of the program together, and is loaded only when it is asked for.
 *
 * @module
 */
import { parseAddress } from "../address.ts";
import type { Bus, Publisher } from "../bus.ts";
import type { NatsOptions } from "../bus/nats/options.ts";
import { UsageError } from "./args.ts";
import type { OptionTable, OptionValues } from "./command.ts";

/** Every subcommand that takes a BUS has them. */
export const BUS_OPTIONS = {
  stream: { value: "NAME", help: "the JetStream stream that keeps the events, where BUS is at NATS" },
  "create-stream": { help: "make that stream if there is none" },
  "nats-creds": { value: "FILE", help: "the credentials to show to NATS (default: $NATS_CREDS)" },
} as const satisfies OptionTable;

/**
 * What was said about the BUS besides its address.
 *
 * @param values what was given for the options
 * @param address where it is: only of what is at NATS there is more to say
 * @throws {UsageError} if they do not go together, or not with the BUS
 */
export async function busOptions(values: OptionValues<typeof BUS_OPTIONS>, address: string): Promise<NatsOptions> {
  if (parseAddress(address).scheme === "nats") {
    const nats: typeof import("./nats.ts") = await import(new URL("./nats.ts", import.meta.url).href);
    return await nats.natsOptions(values);
  }
  // The type of an object's keys is that of all strings.
  const given = (Object.keys(BUS_OPTIONS) as (keyof typeof BUS_OPTIONS)[]).find((name) => values[name]);
  if (given !== undefined) throw new UsageError(`--${given} is about NATS: it goes with nats://HOST:PORT/PREFIX`);
  return {};
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

/**
 * Opens a bus that is no directory.
 *
 * @param address as for `openBus` of `lib/open.ts`
 * @param options likewise
 * @throws {BusError} if the address is of no known kind
 */
export async function openElsewhere(address: string, options: NatsOptions): Promise<Bus> {
  // Found only now, and not by whoever reads a program's imports before it starts.
  const open: typeof import("../open.ts") = await import(new URL("../open.ts", import.meta.url).href);
  return await open.openBus(address, options);
}
