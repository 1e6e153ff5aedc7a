/**
 * What is said about a NATS bus besides its address: by options, and by the environment.
 *
 * @module
 */
import type { NatsOptions } from "../bus/nats/options.ts";
import { reasonOf } from "../os_error.ts";
import { CommandError, UsageError } from "./args.ts";
import type { OptionValues } from "./command.ts";
import { optionalVariable } from "./environment.ts";
import type { BUS_OPTIONS } from "./open.ts";

/** The file with the credentials, if no option names one. */
const VARIABLE = "NATS_CREDS";

/**
 * Reads it.
 *
 * @param values what was given for the options
 * @throws {UsageError} if the options do not go together
 * @throws {CommandError} if the file with the credentials cannot be read
 */
export async function natsOptions(values: OptionValues<typeof BUS_OPTIONS>): Promise<NatsOptions> {
  const { stream, "create-stream": createStream } = values;
  if (createStream && stream === undefined) throw new UsageError("--create-stream goes with --stream NAME");
  return { stream, createStream, credentials: await readCredentials(values["nats-creds"]) };
}

async function readCredentials(named: string | undefined): Promise<string | undefined> {
  const path = named ?? optionalVariable(VARIABLE);
  if (path === undefined || path === "") return undefined;
  const who = named === undefined ? `$${VARIABLE}` : "--nats-creds";
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    throw new CommandError(`cannot read ${who} ${path}: ${reasonOf(error)}`, { cause: error });
  }
}
