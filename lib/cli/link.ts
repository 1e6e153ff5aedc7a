/**
 * `ollie link`: copies events from one bus to another.
 *
 * @module
 */
import { parseAddress } from "../address.ts";
import type { NatsOptions } from "../bus/nats/options.ts";
import { filterList } from "../filter.ts";
import { link } from "../link.ts";
import { checkOperands, HELP_OPTION, parseArgs, printHelp, UsageError } from "./args.ts";
import type { Command, OptionValues } from "./command.ts";
import { Cursor } from "./cursor.ts";
import { complain } from "./failure.ts";
import { BUS_OPTIONS, busOptions } from "./open.ts";
import { openBus } from "./open_bus.ts";
import { keepPermissions, permissionsOf } from "./permissions.ts";
import { firstSignal, INTERRUPTED } from "./signals.ts";

const options = {
  event: {
    short: "e",
    value: "FILTER",
    many: true,
    help: "copy only events whose topic matches; give it again to match several",
  },
  cursor: {
    value: "FILE",
    help: "go on where the last run with this file ended, and the first time begin with the past events",
  },
  stream: { value: "NAME", help: "the JetStream stream that keeps the events, where TO, or else FROM, is at NATS" },
  "create-stream": BUS_OPTIONS["create-stream"],
  "nats-creds": BUS_OPTIONS["nats-creds"],
  "from-stream": { value: "NAME", help: "the stream of FROM, where both are at NATS" },
  "from-creds": { value: "FILE", help: "the credentials for FROM, where both are at NATS (default: $NATS_CREDS)" },
  ...HELP_OPTION,
} as const;

/** What its help and its completions tell. */
export const command: Command = {
  name: "link",
  operands: [{ value: "FROM" }, { value: "TO" }],
  description: `Copy events from one bus to another, until SIGINT or SIGTERM: those that are published from now on.

FROM and TO are directories, which are made if they are missing, or addresses as for ollie sub. Each event is on TO at least once.
With --cursor, all that FROM keeps is copied, and none is missed from one run to the next; a run that was killed repeats a few, but
for a JetStream stream, which finds out that it has them. While TO is away, it is tried again.

Links may form a circle: an event remembers on which buses it has been, and is brought to none of them again.`,
  options,
  examples: [
    [
      "ollie link /tmp/a ws://hub.example",
      "what scripts publish in /tmp/a reaches those who are connected to a hub",
    ],
    [
      "ollie link --cursor ~/.sent --stream EVENTS /tmp/a nats://h/app",
      "keep all that is published in /tmp/a in a stream, too",
    ],
    ["ollie link -e 'session.>' unix:/run/ollie /tmp/b", "copy some topics from a 9P server"],
  ],
};

/** How far before the newest event one that was published late is still found, in milliseconds. */
const WINDOW_MS = 5000;

/**
 * Runs `ollie link`.
 *
 * @param args what was typed after it
 * @returns the exit status
 */
export async function run(args: readonly string[]): Promise<number> {
  const { values, operands } = parseArgs(options, args);
  if (values.help) return await printHelp(command);
  checkOperands(operands, 2);
  const [from, to] = operands;
  if (from === undefined || to === undefined) throw new UsageError("say from which bus to which: FROM TO");
  const schemes = [from, to].map((address) => parseAddress(address).scheme);
  if (schemes.includes("mem")) {
    throw new UsageError(
      "a mem: bus ends with its process, so a link has nothing to do with one: name the server that has it",
    );
  }
  if (from === to) throw new UsageError(`${from} cannot be both FROM and TO: a link is from one bus to another`);
  const filters = filterList(values.event.length > 0 ? values.event : ">");
  if (values.cursor === "") throw new UsageError("--cursor needs the name of a file");
  const [fromOptions, toOptions] = await natsOptions(values, from, to);
  const source = { bus: await openBus(from, fromOptions), name: from };
  const target = { bus: await openBus(to, toOptions), name: to };
  keepPermissions(
    ...schemes.flatMap(permissionsOf),
    ...values.cursor === undefined ? [] : ["read", "write"] as const,
  );

  const cursor = values.cursor === undefined ? undefined : await Cursor.open(values.cursor, WINDOW_MS);
  const stop = new AbortController();
  firstSignal().then((signal) => stop.abort(signal));
  await link(source, target, {
    filters,
    progress: cursor,
    signal: stop.signal,
    begun: () => complain("ollie link", `copying from ${from} to ${to}`),
    log: (message) => complain("ollie link", message),
  });
  return stop.signal.reason === "SIGINT" ? INTERRUPTED : 0;
}

/** What is said about NATS, as it concerns each of the two. */
async function natsOptions(
  values: OptionValues<typeof options>,
  from: string,
  to: string,
): Promise<[from: NatsOptions, to: NatsOptions]> {
  const { stream, "create-stream": create, "nats-creds": creds, "from-stream": fromStream, "from-creds": fromCreds } =
    values;
  const said = { stream, "create-stream": create, "nats-creds": creds };
  const saidOfFrom = { stream: fromStream, "create-stream": false, "nats-creds": fromCreds };
  const [isFrom, isTo] = [from, to].map((address) => parseAddress(address).scheme === "nats");
  if (!(isFrom && isTo) && (fromStream ?? fromCreds) !== undefined) {
    throw new UsageError(
      "--from-stream and --from-creds are for links from NATS to NATS: where one of the two is there, --stream and --nats-creds " +
        "are about that",
    );
  }
  if (isFrom && !isTo) return [await busOptions(said, from), await busOptions(saidOfFrom, to)];
  return [await busOptions(saidOfFrom, from), await busOptions(said, to)];
}
