/**
 * A server that is measured, and what loads it: the server has one core, the load the other, where there are two and `taskset` is
 * there to say so.
 */
import { cpuOf, memoryOf } from "./process.ts";

/** Where servers run. */
const SERVER_CORE = 0;

/** Where what loads them runs. */
export const LOAD_CORE = 1;

/** Whether a program is there. */
export function has(program: string): boolean {
  return new Deno.Command("sh", { args: ["-c", `command -v ${program}`], stdout: "null" }).outputSync().success;
}

/** A command, so that it runs on one core, where that can be said. */
export function on(core: number, command: readonly string[]): string[] {
  return navigator.hardwareConcurrency > 1 && has("taskset") ? ["taskset", "-c", `${core}`, ...command] : [...command];
}

/** A server, running, once it has said that it listens. */
export class Server implements AsyncDisposable {
  /** Where it listens, if it has named a port. */
  readonly port: number;
  readonly #child: Deno.ChildProcess;
  readonly #output: ReadableStream<Uint8Array>;

  private constructor(child: Deno.ChildProcess, output: ReadableStream<Uint8Array>, port: number) {
    this.#child = child;
    this.#output = output;
    this.port = port;
  }

  static async start(command: readonly string[], says: "stdout" | "stderr", env = {}): Promise<Server> {
    const [program, ...args] = on(SERVER_CORE, command);
    const child = new Deno.Command(program, {
      args,
      env,
      stdin: "null",
      stdout: says === "stdout" ? "piped" : "null",
      stderr: says === "stderr" ? "piped" : "inherit",
    }).spawn();
    const output = child[says];
    const reader = output.getReader();
    let said = "";
    while (!/listening.*\n/.test(said)) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`${command.join(" ")} ended before it listened`);
      said += new TextDecoder().decode(value);
    }
    reader.releaseLock();
    return new Server(child, output, Number(/listening.*:(\d+)/.exec(said)?.[1]));
  }

  /** Its memory now, in MB. */
  get memory(): number {
    // Under taskset it is the same process.
    return memoryOf(this.#child.pid);
  }

  /** The time that it has had on a core so far, in milliseconds. */
  get cpu(): number {
    return cpuOf(this.#child.pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#output.cancel();
    await this.#child.status;
  }
}
