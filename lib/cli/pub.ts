/**
 * `ollie pub`: publishes standard input, or each of its lines, or a text.
 *
 * @module
 */
import { parseAddress } from "../address.ts";
import { BusError } from "../bus.ts";
import { checkTopic } from "../event.ts";
import { writeAllSync } from "../bytes.ts";
import { reasonOf } from "../os_error.ts";
import { checkOperands, CommandError, HELP_OPTION, parseArgs, printHelp, UsageError } from "./args.ts";
import type { Command } from "./command.ts";
import { inputLines, readInput } from "./input.ts";
import { BUS_OPTIONS, busOptions, openPublisher } from "./open.ts";
import { keepPermissions, permissionsOf } from "./permissions.ts";

const options = {
  data: { short: "d", value: "TEXT", help: "publish TEXT instead of standard input" },
  lines: { short: "l", help: "publish each line of standard input, as it comes, without its newline" },
  sync: { help: "return only when the event would survive a power cut (where BUS is a directory)" },
  verbose: { short: "v", help: "print each event's id" },
  ...BUS_OPTIONS,
  ...HELP_OPTION,
} as const;

/** What its help and its completions tell. */
export const command: Command = {
  name: "pub",
  operands: [{ value: "BUS", optional: true }, { value: "TOPIC", optional: true }],
  description: `Read standard input to its end and publish it as one event.

BUS is a directory, which is made if it is missing (default: .), or the address of a 9P server, unix:PATH or tcp:HOST:PORT,
of a hub, ws://HOST:PORT, or at NATS, nats://HOST:PORT/PREFIX. TOPIC says what the event is about: segments joined by dots,
such as session.abc123.state (default: event).`,
  options,
  examples: [
    ["echo red | ollie pub /tmp/a color", "publish an event"],
    ["ollie pub -d up /tmp/a host.web1.state", "publish a text, without a newline"],
    ["tail -f access.log | ollie pub -l /tmp/a web.access", "publish each line as it is written"],
    ["ollie pub --sync -v /tmp/a order < order.json", "publish a file, safely on the disk, and print its id"],
  ],
};

/**
 * Runs `ollie pub`.
 *
 * @param args what was typed after it
 * @returns the exit status
 */
export async function run(args: readonly string[]): Promise<number> {
  const { values, operands } = parseArgs(options, args);
  if (values.help) return await printHelp(command);
  checkOperands(operands, 2);
  if (values.data !== undefined && values.lines) {
    throw new UsageError("--data and --lines do not go together: --lines is about standard input");
  }
  const [address = ".", topic = "event"] = operands;
  if (address === "mem:") {
    throw new UsageError("a mem: bus ends with its process, so nobody would see the event: name a directory");
  }
  checkTopic(topic);
  const { scheme } = parseAddress(address);
  if (scheme === "dir") checkOrder(address, topic);
  if (values.sync && scheme !== "dir") throw new UsageError("--sync is about a disk: it goes with a directory");
  // What carries the bus is loaded while that is still allowed.
  const publisher = await openPublisher(address, await busOptions(values, address));
  keepPermissions(...permissionsOf(scheme));

  // Whoever has forgotten the input sees what is waited for.
  if (values.data === undefined && Deno.stdin.isTerminal() && Deno.stderr.isTerminal()) {
    console.error("ollie pub: reading standard input, until Ctrl-D");
  }
  const publish = async (payload: Uint8Array | string) => {
    const published = await publisher.publish(topic, payload, { sync: values.sync });
    if (values.verbose) print(published.id);
  };
  if (values.lines) await publishLines(publish);
  else await publish(values.data ?? readInput());
  return 0;
}

/** Refuses a bus and a topic that were given in the wrong order, as far as can be told, so that no directory is made by that. */
function checkOrder(address: string, topic: string): void {
  if (!topic.includes("/") || address.includes("/") || !isDirectory(topic) || isDirectory(address)) return;
  throw new UsageError(`the topic ${JSON.stringify(topic)} is a directory: the bus comes first, and then the topic`);
}

/** Whether there is a directory, as far as this program may know. */
function isDirectory(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}

/** Prints the id of an event. Whoever does not want to read it is no reason to publish no more. */
function print(id: string): void {
  try {
    writeAllSync(Deno.stdout, `${id}\n`);
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return;
    throw new CommandError(`published ${id}, but cannot write to standard output: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

async function publishLines(publish: (line: Uint8Array) => Promise<void>): Promise<void> {
  let number = 0;
  for await (const line of inputLines()) {
    number++;
    try {
      await publish(line);
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      throw new BusError(`line ${number}: ${error.message}`, { cause: error });
    }
  }
}
