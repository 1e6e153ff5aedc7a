/**
 * Where the demo takes place: a directory, the servers that run in it, and a keeper who clears it all away, whatever ends the
 * demo.
 *
 * @module
 */

/**
 * What the keeper does: it is told the servers' process ids, and when the demo ends, in whatever way, its input does, too. It
 * ignores what a terminal sends to all of its programs.
 */
const KEEPER = `
trap '' HUP INT TERM
while read -r server; do servers="$servers $server"; done
kill -KILL $servers
rm -rf "$1"`;

/** A directory, and the servers in it. Disposing of it ends them, and removes it. */
export class Stage implements AsyncDisposable {
  /** Where the directory is. */
  readonly directory: string;
  /** A program in the directory that is ollie, for people to type. */
  readonly ollie: string;
  readonly #words: readonly string[];
  readonly #keeper: Deno.ChildProcess;
  readonly #pids: WritableStreamDefaultWriter<Uint8Array>;
  readonly #servers: Deno.ChildProcess[] = [];
  readonly #fell = Promise.withResolvers<Deno.Signal>();
  #over = false;

  /** @param words what starts ollie: a program, and the arguments before ollie's own */
  constructor(words: readonly string[]) {
    this.#words = words;
    this.directory = makeDirectory();
    this.#keeper = new Deno.Command("sh", {
      args: ["-c", KEEPER, "keeper", this.directory],
      stdin: "piped",
      stdout: "null",
      stderr: "null",
    }).spawn();
    this.#pids = this.#keeper.stdin.getWriter();
    this.#fell.promise.catch(() => {});
    this.ollie = `${this.directory}/ollie`;
    Deno.writeTextFileSync(this.ollie, `#!/bin/sh\nexec ${words.map(quoted).join(" ")} "$@"\n`, { mode: 0o700 });
  }

  /**
   * Resolves when a server was asked to end, as a terminal asks all of its programs and the demo, too: with the signal that
   * did it. Is rejected when one has ended by itself.
   */
  get fell(): Promise<Deno.Signal> {
    return this.#fell.promise;
  }

  /**
   * Starts a server, and waits until it listens.
   *
   * @param args the subcommand, and what follows it
   * @returns the address that it listens on
   * @throws {Error} what the server said, if it does not come to that
   */
  async start(...args: readonly string[]): Promise<string> {
    if (this.#over) throw new Error("the demo is over");
    const [program, ...before] = this.#words;
    const server = new Deno.Command(program, {
      args: [...before, ...args],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    this.#servers.push(server);
    await this.#pids.write(new TextEncoder().encode(`${server.pid}\n`));
    const said = server.stderr.pipeThrough(new TextDecoderStream());
    const address = await listening(said, `ollie ${args[0]}`);
    server.status.then(({ code, signal }) => {
      if (code === 0) this.#fell.resolve("SIGTERM");
      else if (code === 130) this.#fell.resolve("SIGINT");
      else if (signal === "SIGHUP") this.#fell.resolve("SIGHUP");
      else this.#fell.reject(new Error(`ollie ${args[0]} has ended by itself (${signal ?? `exit status ${code}`})`));
    });
    return address;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    for (const server of this.#servers) end(server, "SIGTERM");
    await Promise.all(this.#servers.map((server) => server.status));
    // It would do the same, but to process ids that may be those of other programs by now.
    end(this.#keeper, "SIGKILL");
    await this.#keeper.status;
    // In one go: who publishes in this process would make it anew.
    Deno.removeSync(this.directory, { recursive: true });
  }
}

function end(process: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    process.kill(signal);
  } catch {
    // It has ended by itself.
  }
}

/** A directory that is easy to type, unless there is one already. */
function makeDirectory(): string {
  try {
    const directory = "/tmp/ollie-demo";
    Deno.mkdirSync(directory, { mode: 0o700 });
    return directory;
  } catch {
    return Deno.makeTempDirSync({ prefix: "ollie-demo-" });
  }
}

/** Waits for a server to say where it listens, and passes on what it says after that. */
async function listening(said: ReadableStream<string>, who: string): Promise<string> {
  const reader = said.getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error(text.trim() || `${who} has ended before it listened`);
    text += value;
    const [, address] = /: listening on (.+)\n/.exec(text) ?? [];
    if (address === undefined) continue;
    passOn(reader);
    return address;
  }
}

async function passOn(reader: ReadableStreamDefaultReader<string>): Promise<void> {
  for (let read; !(read = await reader.read()).done;) console.error(read.value.trimEnd());
}

/**
 * Writes a word for a shell.
 *
 * @param word any text
 */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
