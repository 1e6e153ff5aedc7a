/**
 * `ollie 9p`: reads and writes the files of a 9P server, as plan9port's `9p` does.
 *
 * @module
 */
import { BusError } from "../bus.ts";
import { NinepClient, type RemoteFile } from "../ninep/client.ts";
import { NinepError } from "../ninep/error.ts";
import { DMDIR, type Stat } from "../ninep/message.ts";
import { reasonOf } from "../os_error.ts";
import {
  checkOperands,
  CommandError,
  HELP_OPTION,
  listed,
  parseArgs,
  parseWord,
  printHelp,
  UsageError,
} from "./args.ts";
import type { Command } from "./command.ts";
import { inputLines, inputPieces, readInput } from "./input.ts";
import { print } from "./output.ts";
import { keepPermissions } from "./permissions.ts";
import { parseServerAddress } from "./server_address.ts";
import { INTERRUPTED } from "./signals.ts";

const options = {
  address: { short: "a", value: "ADDRESS", help: "the server: unix:PATH or tcp:[HOST:]PORT (default: $OLLIE_9P)" },
  ...HELP_OPTION,
} as const;

const ACTION_WORDS = {
  read: "print it to its end, or as it comes",
  write: "write standard input into it",
  rdwr: "print what one read brings, then write a line of standard input, and so on",
  rdwrs: "write standard input into it at once, then print what it brings: for event, the filter and then the events",
  ls: "list a directory (default: the root)",
  stat: "print its attributes",
} as const;
type ActionWord = keyof typeof ACTION_WORDS;

/** What its help and its completions tell. */
export const command: Command = {
  name: "9p",
  operands: [
    { value: "ACTION", words: ACTION_WORDS },
    { value: "PATH", optional: true, suggestions: ["event", "event.json", "pub", "pub.json", "stats", "id"] },
  ],
  description: "Use a file of a 9P server, such as ollie serve9p.",
  options,
  examples: [
    ["ollie 9p -a unix:/run/ollie read event", "print every event as it comes"],
    ["echo 'session.*.state' | ollie 9p -a unix:/run/ollie rdwrs event", "print the events that match"],
    ["echo 'color red' | OLLIE_9P=unix:/run/ollie ollie 9p write pub", "publish an event"],
  ],
};

/** What can be done with a file. */
type Action = (client: NinepClient, path: string) => Promise<void>;

const ACTIONS: Readonly<Record<ActionWord, Action>> = {
  read: async (client, path) => {
    await using file = await client.open(path, "read");
    await printAll(file);
  },
  write: async (client, path) => {
    const file = await client.open(path, "overwrite");
    let offset = 0n;
    for await (const piece of inputPieces()) {
      await file.write(piece, offset);
      offset += BigInt(piece.length);
    }
    // What stands after the last newline is published only now, which can fail.
    await file.close();
  },
  rdwr: async (client, path) => {
    await using file = await client.open(path, "readwrite");
    const lines = inputLines();
    for (;;) {
      await print(await interruptible((signal) => file.read({ signal })));
      const { value: line, done } = await lines.next();
      if (done) return;
      await ask(file, line);
    }
  },
  rdwrs: async (client, path) => {
    await using file = await client.open(path, "readwrite");
    await ask(file, readInput());
    await printAll(file);
  },
  ls: async (client, path) => {
    const stat = await client.stat(path);
    const stats = (stat.mode & DMDIR) === 0 ? [stat] : await client.list(path);
    for (const { name, mode } of stats) await print(`${name}${(mode & DMDIR) === 0 ? "" : "/"}\n`);
  },
  stat: async (client, path) => print(`${describe(await client.stat(path))}\n`),
};

/**
 * Runs `ollie 9p`.
 *
 * @param args what was typed after it
 * @returns the exit status
 */
export async function run(args: readonly string[]): Promise<number> {
  const { values, operands } = parseArgs(options, args);
  if (values.help) return await printHelp(command);
  checkOperands(operands, 2);
  if (operands.length === 0) throw new UsageError(`say what to do: ${listed(Object.keys(ACTIONS), "or")}`);
  const action = parseWord(ACTION_WORDS, operands[0], "ACTION");
  const path = operands[1] ?? (action === "ls" ? "/" : undefined);
  if (path === undefined) throw new UsageError(`say which file: ollie 9p ${action} PATH`);
  const address = values.address ?? addressInEnvironment();
  if (address === undefined || address === "") {
    throw new UsageError("say which server: --address unix:PATH or tcp:HOST:PORT, or set OLLIE_9P");
  }
  const server = parseServerAddress(address);
  keepPermissions("read", "write", "net");

  await using client = await NinepClient.connect(server);
  try {
    await ACTIONS[action](client, path);
    return 0;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return INTERRUPTED;
    // Whoever was reading has seen enough.
    if (error instanceof Deno.errors.BrokenPipe) return 0;
    if (error instanceof NinepError) throw new BusError(`${path}: ${error.message}`, { cause: error });
    throw error;
  }
}

function addressInEnvironment(): string | undefined {
  try {
    return Deno.env.get("OLLIE_9P");
  } catch (error) {
    throw new CommandError(`cannot find the server's address, which --address did not give: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/** Does what may wait for ever. An interruption aborts the signal, so that the server is told. */
async function interruptible<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const interrupted = new AbortController();
  const interrupt = () => {
    interrupted.abort();
    // The next one has its usual effect: the server may not answer.
    Deno.removeSignalListener("SIGINT", interrupt);
  };
  Deno.addSignalListener("SIGINT", interrupt);
  try {
    return await work(interrupted.signal);
  } finally {
    Deno.removeSignalListener("SIGINT", interrupt);
  }
}

/** Writes what must come in one piece, since a filter that is cut in two is two filters. */
async function ask(file: RemoteFile, request: Uint8Array): Promise<void> {
  if (request.length > file.iounit) {
    throw new CommandError(`cannot write ${request.length} bytes at once: the server takes ${file.iounit}`);
  }
  await file.write(request);
}

/** Prints a file as far as it goes. */
async function printAll(file: RemoteFile): Promise<void> {
  await interruptible(async (signal) => {
    for (let offset = 0n;;) {
      const data = await file.read({ offset, signal });
      if (data.length === 0) return;
      await print(data);
      offset += BigInt(data.length);
    }
  });
}

/** The attributes on a line, as `ls -l` has them. */
function describe({ mode, name, uid, gid, length, mtime, qid }: Stat): string {
  const date = new Date(mtime * 1000).toISOString();
  return `${permissions(mode)} ${uid} ${gid} ${length} ${date} ${name} (qid ${qid.path} version ${qid.version})`;
}

function permissions(mode: number): string {
  const bits = [...(mode & 0o777).toString(2).padStart(9, "0")];
  return ((mode & DMDIR) === 0 ? "-" : "d") + bits.map((bit, i) => bit === "1" ? "rwx"[i % 3] : "-").join("");
}
