/**
 * `ollie sub`: prints the events that match, as they come.
 *
 * @module
 */
import { parseAddress } from "../address.ts";
import { BusError, GapError, type SubscribeOptions, type Subscription, UnreadableEventError } from "../bus.ts";
import type { BusEvent } from "../event.ts";
import { filterList } from "../filter.ts";
import { jsonOf, textOf } from "../format.ts";
import { checkOperands, HELP_OPTION, parseArgs, printHelp, UsageError } from "./args.ts";
import type { Command } from "./command.ts";
import type { Cursor } from "./cursor.ts";
import { complain } from "./failure.ts";
import { Output } from "./output.ts";
import { BUS_OPTIONS, busOptions } from "./open.ts";
import { openBus } from "./open_bus.ts";
import { keepPermissions, permissionsOf } from "./permissions.ts";
import { parseCount, parseDuration, parseTimeout } from "./quantity.ts";

const FORMATS = {
  raw: "the payload as it is (the default)",
  text: "the topic and the payload, on a line",
  json: "an object with id, time, topic and payload, on a line",
} as const;
type Format = keyof typeof FORMATS;

const options = {
  monitor: { short: "m", help: "go on after the first event" },
  event: {
    short: "e",
    value: "FILTER",
    many: true,
    help: "print only events whose topic matches; give it again to match several",
  },
  count: { short: "c", value: "N", help: "exit after N events" },
  timeout: { short: "W", value: "DURATION", help: "exit with status 124 when DURATION has passed" },
  historic: { short: "H", help: "begin with the past events (the default, where BUS is a directory)" },
  new: { short: "n", help: "leave the past events out (the default elsewhere)" },
  after: { value: "ID", help: "begin after the event with this id" },
  cursor: {
    value: "FILE",
    help: "go on where the last run with this file ended; -H, -n and --after count only while there is no such file",
  },
  window: {
    value: "DURATION",
    help: "with --cursor: how far before the newest event one that was published late is still found (default: 5s)",
  },
  format: {
    short: "f",
    value: "FORMAT",
    words: FORMATS,
    help: "how an event is printed",
  },
  null: { short: "0", help: "end each event with a NUL character" },
  verbose: { short: "v", help: "print each event's id on standard error" },
  ...BUS_OPTIONS,
  ...HELP_OPTION,
} as const;

/** What its help and its completions tell. */
export const command: Command = {
  name: "sub",
  operands: [{ value: "BUS", optional: true }],
  description: `Print the first event, or with --monitor every event, past and to come.

BUS is a directory, which is made if it is missing (default: .), or the address of a 9P server, unix:PATH or tcp:HOST:PORT,
of a hub, ws://HOST:PORT, or at NATS, nats://HOST:PORT/PREFIX. There, only what is published from now on is printed unless
you ask for more. A FILTER is a topic in which a segment may be * (any one segment) or name:* (any id), and the last may be
> (one segment or more). A DURATION is such as 500ms, 5s, 2m or 1h.

What was removed before it could be printed is told of on standard error, once, and so is an event that cannot be read. The rest
is printed all the same, and then the exit status is 1.`,
  options,
  examples: [
    ["ollie sub -m /tmp/a", "print what has been published and what will be"],
    ["ollie sub -m -n -e 'session.*.state' -f text /tmp/a", "print new states, each with its topic"],
    ["ollie sub -W 10s -n -e ready /tmp/a", "wait for an event, but no longer than ten seconds"],
    [
      "ollie sub -m --cursor ~/.seen /tmp/a",
      "go on where the last run with this bus and this file ended",
    ],
  ],
};

const TIMED_OUT = 124;
const GRACE_MS = 200;

/**
 * Runs `ollie sub`.
 *
 * @param args what was typed after it
 * @returns the exit status
 */
export async function run(args: readonly string[]): Promise<number> {
  const { values, operands } = parseArgs(options, args);
  if (values.help) return await printHelp(command);
  checkOperands(operands, 1, "which topics to print is said with --event");
  const [address = "."] = operands;
  if (address === "mem:") {
    throw new UsageError("a mem: bus ends with its process, so nobody could publish to this one: name a directory");
  }
  const filters = filterList(values.event.length > 0 ? values.event : ">");
  const literal = values.event.find((filter) => /[^.:]\*|\*[^.]/.test(filter));
  if (literal !== undefined) {
    complain(
      "ollie sub",
      `in the filter ${
        JSON.stringify(literal)
      }, * stands only for itself: it is a pattern as a whole segment, or after a colon`,
    );
  }
  if (values.window !== undefined && values.cursor === undefined) throw new UsageError("--window goes with --cursor");
  const beginnings = [values.historic && "--historic", values.new && "--new", values.after !== undefined && "--after"];
  const [first, second] = beginnings.filter(Boolean);
  if (second) throw new UsageError(`${first} and ${second} do not go together: events begin at one place`);
  if (values.cursor === "") throw new UsageError("--cursor needs the name of a file");
  const count = values.count === undefined ? (values.monitor ? Infinity : 1) : parseCount(values.count, "--count");
  const timeout = values.timeout === undefined ? undefined : parseTimeout(values.timeout, "--timeout");
  const window = parseDuration(values.window ?? "5s", "--window");
  const { scheme } = parseAddress(address);
  // What carries the bus is loaded while that is still allowed.
  const bus = await openBus(address, await busOptions(values, address));
  keepPermissions(...permissionsOf(scheme), ...values.cursor === undefined ? [] : ["read", "write"] as const);

  const cursor = values.cursor === undefined ? undefined : await openCursor(values.cursor, window);
  // What a server serves need not keep events, so there the past is what somebody asks for.
  const live = values.new || (scheme !== "dir" && !values.historic && cursor === undefined);
  const beginning: SubscribeOptions["from"] = values.after !== undefined
    ? { after: values.after }
    : live
    ? "now"
    : "start";

  const stop = new AbortController();
  const timeUp = Promise.withResolvers<number>();
  if (timeout !== undefined) {
    setTimeout(() => {
      stop.abort();
      // What came in time may still be written, but not for as long as whoever reads it likes.
      setTimeout(() => timeUp.resolve(TIMED_OUT), GRACE_MS);
    }, timeout);
  }
  const output = new Output(() => stop.abort());
  const subscription = bus.subscribe(filters, {
    from: cursor?.position ?? beginning,
    window: cursor === undefined ? undefined : window,
    signal: stop.signal,
  });
  const position = await subscription.ready;
  if (cursor !== undefined && cursor.position === undefined) {
    if (position === undefined) {
      throw new BusError(
        `${address} does not tell which events there are now: begin with the past, or after one of them`,
      );
    }
    cursor.create(position);
  }
  if (values.verbose) complain("ollie sub", `subscribed to ${address}`);
  const write = writerOf(output, values.format ?? "raw", values.null);
  const printing = printEvents(subscription, { count, output, write, cursor, verbose: values.verbose });
  return await Promise.race([printing, timeUp.promise]);
}

/** What {@linkcode printEvents} does with the events. */
interface Printing {
  /** How many are to be printed. */
  readonly count: number;
  readonly output: Output;
  readonly write: (event: BusEvent) => Promise<void>;
  readonly cursor: Cursor | undefined;
  readonly verbose: boolean;
}

/** Prints events until there are enough, or no more. Returns the exit status. */
async function printEvents(subscription: Subscription, printing: Printing): Promise<number> {
  const { count, output, write, cursor, verbose } = printing;
  let printed = 0;
  let complete = true;
  const onMissing = (error: UnreadableEventError | GapError) => {
    complain("ollie sub", error.message);
    complete = false;
    if (error instanceof GapError) cursor?.recordGone(error.until);
  };
  try {
    while (printed < count) {
      const next = nextEvent(subscription, onMissing);
      if (!await isAtHand(next)) output.start();
      const event = await next;
      if (event === undefined) break;
      if (verbose) console.error(event.id);
      await write(event);
      if (cursor !== undefined) {
        // Recorded once it has been handed over and not before: a kill in between repeats it, and loses nothing.
        await output.flush();
        cursor.record(event);
      }
      printed++;
    }
    await output.flush();
  } catch (error) {
    // Whoever was reading has seen enough.
    if (error instanceof Deno.errors.BrokenPipe) return 0;
    throw error;
  }
  // Nothing but the time ends a subscription before there are enough.
  if (printed < count) return TIMED_OUT;
  return complete ? 0 : 1;
}

async function openCursor(path: string, window: number): Promise<Cursor> {
  const { Cursor } = await import("./cursor.ts");
  return await Cursor.open(path, window);
}

/** Whether a promise is kept already: then there is a backlog, and what has been printed can wait for more. */
async function isAtHand(promise: Promise<unknown>): Promise<boolean> {
  let kept = false;
  promise.then(() => kept = true, () => kept = true);
  // As many turns of the microtask queue as it takes for an event that waits in memory, or in a file, to come through.
  for (let turn = 0; turn < 4; turn++) await undefined;
  return kept;
}

/** The next event that there is. What cannot be given is passed by. */
async function nextEvent(
  subscription: Subscription,
  onMissing: (error: UnreadableEventError | GapError) => void,
): Promise<BusEvent | undefined> {
  for (;;) {
    try {
      return (await subscription.next()).value;
    } catch (error) {
      if (!(error instanceof UnreadableEventError || error instanceof GapError)) throw error;
      onMissing(error);
    }
  }
}

/** Writes events in a format. */
function writerOf(output: Output, format: Format, nul: boolean): (event: BusEvent) => Promise<void> {
  const end = Uint8Array.of(nul ? 0 : 10);
  switch (format) {
    case "raw":
      return ({ payload }) => nul ? output.add(payload, end) : output.add(payload);
    case "text":
      return (event) => output.add(textOf(event), end);
    case "json":
      return (event) => output.add(new TextEncoder().encode(jsonOf(event)), end);
  }
}
