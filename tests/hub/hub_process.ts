/** `ollie hub` as a process, with what a test wants to know of it. */
import { until } from "../deadline.ts";
import { type Running, startListening } from "../cli/ollie.ts";

/** A hub that runs. It is killed at the end of the block. */
export class HubProcess implements AsyncDisposable {
  /** The process. */
  readonly running: Running;
  /** Where it listens: `http://127.0.0.1:PORT`, or `https:`. */
  readonly url: string;

  private constructor(running: Running, url: string) {
    this.running = running;
    this.url = url;
  }

  /**
   * Starts one, and waits until it listens: on a free port of 127.0.0.1, unless the arguments say otherwise.
   *
   * @param args what follows `ollie hub`
   */
  static async start(...args: readonly string[]): Promise<HubProcess> {
    const listen = args.some((arg) => arg === "--listen" || arg === "-l") ? [] : ["--listen", "127.0.0.1:0"];
    const { running, address } = await startListening("hub", [...listen, ...args]);
    return new HubProcess(running, address);
  }

  /** The port that it listens on. */
  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** What `/metrics` says of one thing, `ollie_` left out. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const [, value] = new RegExp(`^ollie_${name} (\\S+)$`, "m").exec(text) ?? [];
    if (value === undefined) throw new Error(`there is no metric ollie_${name}`);
    return Number(value);
  }

  /** Waits until `/metrics` says so. */
  async untilMetric(name: string, value: number): Promise<void> {
    await until(`ollie_${name} ${value}`, async () => await this.metric(name) === value);
  }

  /**
   * How much memory it has now, in bytes, as far as that is its own: the pages of its executable, which it shares with others of
   * its kind and the system takes back when it likes, are left out.
   */
  get memory(): number {
    const status = Deno.readTextFileSync(`/proc/${this.running.pid}/status`);
    return Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  }

  /** How long it has had a processor, in seconds, in all. */
  get processorTime(): number {
    const [user, system] = Deno.readTextFileSync(`/proc/${this.running.pid}/stat`).split(") ")[1].split(" ").slice(
      11,
      13,
    );
    return (Number(user) + Number(system)) / 100;
  }

  /** How many files and sockets it has open. */
  get openFiles(): number {
    return [...Deno.readDirSync(`/proc/${this.running.pid}/fd`)].length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.running[Symbol.asyncDispose]();
  }
}
