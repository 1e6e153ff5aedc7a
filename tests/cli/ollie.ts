/**
 * Running ollie as people do, as a process: from its source, or the executable that the environment variable OLLIE names.
 */
import { Queue } from "../../lib/queue.ts";
import { ENTRY, PERMISSIONS, ROOT } from "../../release/executable.ts";
import { within } from "../deadline.ts";

const executable = Deno.env.get("OLLIE");

/** What starts ollie: a program, and the arguments before ollie's own. */
export const OLLIE: readonly [string, ...string[]] = executable === undefined
  ? [Deno.execPath(), "run", "--quiet", ...PERMISSIONS, new URL(ENTRY, ROOT).pathname]
  : [executable];

/** OLLIE as a word of a shell script. */
export const OLLIE_IN_SHELL = OLLIE.map((word) => `'${word}'`).join(" ");

/** How a process is started. */
export interface RunOptions {
  /** What it reads from standard input: nothing if not given. */
  readonly stdin?: string | Uint8Array;
  /** What it finds in its environment besides. */
  readonly env?: Record<string, string>;
  /** Where it runs. */
  readonly cwd?: string;
  /** Words before the command, such as `setpriv` and its options. */
  readonly under?: readonly string[];
}

/** How a process ended. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output, to the byte. */
  readonly bytes: Uint8Array;
}

/** Runs ollie to its end. */
export function ollie(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return run([...options.under ?? [], ...OLLIE, ...args], options);
}

/** The names of the subcommands, as `ollie --help` lists them. */
export async function subcommandNames(): Promise<string[]> {
  const { stdout } = await ollie(["--help"]);
  const [, lines = ""] = /^Subcommands:\n((?: {2}.*\n)+)/m.exec(stdout) ?? [];
  return Array.from(lines.matchAll(/^ {2}(\S+)/gm), ([, name]) => name);
}

/** Runs a shell script to its end. In it, `ollie` is ollie. */
export function shell(script: string, options: RunOptions = {}): Promise<Ended> {
  return run(["bash", "-c", `ollie() { ${OLLIE_IN_SHELL} "$@"; }\n${script}`], options);
}

async function run([program, ...args]: string[], { stdin, env, cwd }: RunOptions): Promise<Ended> {
  const child = new Deno.Command(program, {
    args,
    env: { NO_COLOR: "1", ...env },
    cwd,
    stdin: stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  if (stdin !== undefined) {
    const writer = child.stdin.getWriter();
    // A process that has refused its arguments no longer reads.
    await writer.write(typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin).catch(() => {});
    await writer.close().catch(() => {});
  }
  const { code, stdout, stderr } = await within(child.output(), `the end of ${args.join(" ")}`);
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr), bytes: stdout };
}

/** A process that is running, whose output is read line by line. It is killed at the end of the block. */
export class Running implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #stdin: WritableStreamDefaultWriter<Uint8Array>;
  /** Its standard output. */
  readonly stdout: Lines;
  /** Its standard error. */
  readonly stderr: Lines;

  /** Starts it. */
  constructor([program, ...args]: readonly string[]) {
    this.#child = new Deno.Command(program, {
      args,
      env: { NO_COLOR: "1" },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#stdin = this.#child.stdin.getWriter();
    this.stdout = new Lines(this.#child.stdout);
    this.stderr = new Lines(this.#child.stderr);
  }

  /** Starts `ollie sub` and waits until it has subscribed. */
  static async sub(...args: string[]): Promise<Running> {
    const running = new Running([...OLLIE, "sub", "-v", ...args]);
    for (let line; !(line = await running.stderr.next())?.startsWith("ollie sub: subscribed");) {
      if (line === undefined) throw new Error("ollie sub ended before it had subscribed");
    }
    return running;
  }

  /** Starts `ollie link` and waits until it copies. */
  static async link(...args: string[]): Promise<Running> {
    const running = new Running([...OLLIE, "link", ...args]);
    const line = await running.stderr.next();
    if (line?.startsWith("ollie link: copying from ")) return running;
    await running[Symbol.asyncDispose]();
    throw new Error(`ollie link said ${line}`);
  }

  /** Its process id. */
  get pid(): number {
    return this.#child.pid;
  }

  /** Resolves when it has ended. */
  get status(): Promise<Deno.CommandStatus> {
    return this.#child.status;
  }

  /** Writes to its standard input. */
  async write(text: string): Promise<void> {
    await this.#stdin.write(new TextEncoder().encode(text));
  }

  /** Ends its standard input. */
  async closeInput(): Promise<void> {
    await this.#stdin.close();
  }

  /** Sends it a signal. */
  signal(signal: Deno.Signal): void {
    try {
      this.#child.kill(signal);
    } catch {
      // It has ended by itself.
    }
  }

  /** The most memory it has had so far, in bytes. */
  get peakMemory(): number {
    const status = Deno.readTextFileSync(`/proc/${this.pid}/status`);
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal("SIGKILL");
    await this.#stdin.abort().catch(() => {});
    await Promise.all([this.stdout.rest(), this.stderr.rest(), this.status]);
  }
}

/** Starts a server, such as `ollie hub`, and waits until it listens. Returns where it does, too. */
export async function startListening(
  subcommand: "serve9p" | "hub",
  args: readonly string[],
): Promise<{ running: Running; address: string }> {
  const running = new Running([...OLLIE, subcommand, ...args]);
  const begins = `ollie ${subcommand}: listening on `;
  const said = [];
  for (let line; (line = await running.stderr.next()) !== undefined;) {
    if (line.startsWith(begins)) return { running, address: line.slice(begins.length) };
    said.push(line);
  }
  await running[Symbol.asyncDispose]();
  throw new Error(`ollie ${subcommand} ended before it listened: ${said.join("\n")}`);
}

/** Starts `ollie serve9p` and waits until it listens. Returns the address, too. */
export function startServer(...args: string[]): Promise<{ running: Running; address: string }> {
  return startListening("serve9p", args);
}

/** A stream of text, by lines. It is read all the time, so that the process which writes it never has to wait. */
export class Lines {
  readonly #lines = new Queue<string>();
  readonly #reading: Promise<void>;
  #ended = false;
  #wake = Promise.withResolvers<void>();

  /** @param stream what to read */
  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reading = this.#read(stream);
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let begun = "";
    for await (const chunk of stream) {
      const lines = (begun + decoder.decode(chunk, { stream: true })).split("\n");
      begun = lines.pop() ?? "";
      for (const line of lines) this.#lines.push(line);
      this.#wake.resolve();
      this.#wake = Promise.withResolvers();
    }
    this.#ended = true;
    this.#wake.resolve();
  }

  /** The next line; `undefined` at the end of the stream. What stands after the last newline is no line. */
  async next(): Promise<string | undefined> {
    while (this.#lines.size === 0 && !this.#ended) await within(this.#wake.promise, "a line");
    return this.#lines.shift();
  }

  /** The next few lines. */
  async take(count: number): Promise<(string | undefined)[]> {
    const lines = [];
    for (let i = 0; i < count; i++) lines.push(await this.next());
    return lines;
  }

  /** All lines to the end. */
  async rest(): Promise<string[]> {
    await within(this.#reading, "the end of the lines");
    const lines = [];
    for (let line; (line = this.#lines.shift()) !== undefined;) lines.push(line);
    return lines;
  }
}

/** Whether a program is on this machine, with a word where it is not: what needs it is then left out. */
export function has(program: string): boolean {
  try {
    return new Deno.Command("sh", { args: ["-c", 'command -v "$1"', "-", program], stdout: "null", stderr: "null" })
      .outputSync().success;
  } catch {
    return false;
  }
}

/** Under this, even root needs the permission that a file's mode gives. */
export const AS_OTHERS = Deno.uid() === 0
  ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
  : [];
