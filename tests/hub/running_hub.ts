/** `ollie hub` as a process, which can be killed and started again where it was. */
import { type Running, startListening } from "../cli/ollie.ts";

/** A hub that is running. */
export interface RunningHub extends AsyncDisposable {
  /** Its process. */
  readonly running: Running;
  /** Where it listens. */
  readonly port: number;
  /** The address for WebSockets. */
  readonly url: string;
}

/**
 * Starts a hub and waits until it listens.
 *
 * @param bus what it serves
 * @param options where; a port of its own if not given, and what else to say on its command line
 */
export async function startHub(
  bus = "mem:",
  { port = 0, args = [] }: { readonly port?: number; readonly args?: readonly string[] } = {},
): Promise<RunningHub> {
  const { running, address } = await startListening("hub", ["--listen", `127.0.0.1:${port}`, ...args, bus]);
  const { port: found } = new URL(address);
  return {
    running,
    port: Number(found),
    url: `ws://127.0.0.1:${found}/`,
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

/** A hub that is killed and started again, on the same port and bus. */
export class RestartedHub implements AsyncDisposable {
  #hub: RunningHub;
  readonly #bus: string;

  private constructor(hub: RunningHub, bus: string) {
    this.#hub = hub;
    this.#bus = bus;
  }

  /** Starts it. */
  static async start(bus = "mem:"): Promise<RestartedHub> {
    return new RestartedHub(await startHub(bus), bus);
  }

  /** Its address. */
  get url(): string {
    return this.#hub.url;
  }

  /** Kills it, without a warning. */
  async kill(): Promise<void> {
    this.#hub.running.signal("SIGKILL");
    await this.#hub[Symbol.asyncDispose]();
  }

  /** Starts it again. */
  async restart(): Promise<void> {
    this.#hub = await startHub(this.#bus, { port: this.#hub.port });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#hub[Symbol.asyncDispose]();
  }
}
