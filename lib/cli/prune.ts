/**
 * `ollie prune`: removes old events from a directory.
 *
 * @module
 */
import { parseAddress } from "../address.ts";
import { prune, type Pruned } from "../bus/directory/prune.ts";
import { checkOperands, HELP_OPTION, parseArgs, printHelp, UsageError } from "./args.ts";
import type { Command } from "./command.ts";
import { parseLimits } from "./limits.ts";
import { print } from "./output.ts";
import { keepPermissions, permissionsOf } from "./permissions.ts";
import { ProgressBar } from "./progress.ts";
import { firstSignal, INTERRUPTED } from "./signals.ts";

const options = {
  "older-than": { value: "DURATION", help: "remove events older than that, such as 12h, 7d or 365d" },
  keep: { value: "N", help: "remove all but the newest N events" },
  "max-bytes": {
    value: "BYTES",
    help: "remove the oldest events as long as the payloads of all have more than that, such as 64K, 100M or 1G",
  },
  "dry-run": { help: "remove nothing, and say what would be" },
  ...HELP_OPTION,
} as const;

/** What its help and its completions tell. */
export const command: Command = {
  name: "prune",
  operands: [{ value: "DIR" }],
  description:
    `Remove old events from a directory: those beyond any of the limits given, of which there has to be one. What writers
that were killed have left in DIR/tmp goes, too, when it is an hour old.

Subscribers are not disturbed. One that comes back, with a --cursor say, and has missed events by that is told so: DIR/pruned
remembers what has been removed. Events dated in the future stay, and do not count, until their time has come.`,
  options,
  examples: [
    ["ollie prune --older-than 365d /tmp/a", "keep a year"],
    ["ollie prune --keep 100000 --max-bytes 1G /tmp/a", "keep at most so many events, and so many bytes"],
    ["ollie prune --dry-run --older-than 7d /tmp/a", "say what would be removed"],
  ],
};

/**
 * Runs `ollie prune`.
 *
 * @param args what was typed after it
 * @returns the exit status
 */
export async function run(args: readonly string[]): Promise<number> {
  const { values, operands } = parseArgs(options, args);
  if (values.help) return await printHelp(command);
  checkOperands(operands, 1);
  const [address] = operands;
  if (address === undefined) throw new UsageError("say which directory to remove events from");
  const { scheme, rest } = parseAddress(address);
  if (scheme !== "dir") throw new UsageError(`${address} is no directory, and only from one can events be removed`);
  const limits = parseLimits(values);
  if (Object.values(limits).every((limit) => limit === undefined)) {
    throw new UsageError("say what is to stay, with --older-than, --keep or --max-bytes");
  }
  keepPermissions(...permissionsOf(scheme));

  const dryRun = values["dry-run"];
  const stop = new AbortController();
  firstSignal().then((signal) => stop.abort(signal));
  let pruned: Pruned;
  {
    using bar = new ProgressBar();
    pruned = await prune(rest, limits, {
      dryRun,
      signal: stop.signal,
      onProgress: ({ doing, done, total }) => bar.show(doing, done, total),
    });
  }
  await print(`${sentence(pruned, dryRun)}\n`);
  if (!stop.signal.aborted) return 0;
  return stop.signal.reason === "SIGINT" ? INTERRUPTED : 1;
}

function sentence({ events, bytes, orphans, ahead }: Pruned, dryRun: boolean): string {
  const left = orphans === 0 ? "" : `, and ${things(orphans, "file")} left in tmp/`;
  const future = ahead === 0 ? "" : `; ${things(ahead, "event")} dated in the future ${ahead === 1 ? "stays" : "stay"}`;
  return `${dryRun ? "would remove" : "removed"} ${things(events, "event")} (${things(bytes, "byte")})${left}${future}`;
}

function things(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}
