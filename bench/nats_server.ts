/** `nats-server`, by itself or three of them as a cluster, for what is measured through it. */
import type { NatsConnection } from "@nats-io/transport-node";
import { jetstreamManager } from "@nats-io/jetstream";
import { cpuOf, memoryOf } from "./process.ts";
import { LOAD_CORE, on } from "./server.ts";

const SERVERS = 3;

/** How long to wait before servers that have just been started are asked again, in milliseconds. */
const RETRY_MS = 100;

/** A server, running, with JetStream. */
export class NatsServer implements AsyncDisposable {
  /** Where it listens, as `HOST:PORT`. */
  readonly address: string;
  readonly #child: Deno.ChildProcess;

  private constructor(address: string, child: Deno.ChildProcess) {
    this.address = address;
    this.#child = child;
  }

  /**
   * Starts one.
   *
   * @param directory where it keeps its streams
   * @param more arguments besides
   */
  static async start(directory: string, more: readonly string[] = []): Promise<NatsServer> {
    Deno.mkdirSync(directory, { recursive: true });
    const args = ["-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", directory, "-js", "-sd", `${directory}/streams`];
    const [program, ...rest] = on(LOAD_CORE, ["nats-server", ...args, ...more]);
    const child = new Deno.Command(program, { args: rest, stdout: "null", stderr: "null" }).spawn();
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      try {
        const { nats } = JSON.parse(Deno.readTextFileSync(`${directory}/nats-server_${child.pid}.ports`));
        return new NatsServer(new URL(nats[0]).host, child);
      } catch {
        // It has yet to write them.
      }
    }
  }

  /**
   * Starts three that know each other. They may take some seconds to agree on who leads before a stream can be made.
   *
   * @param directory where they keep their streams
   */
  static cluster(directory: string): Promise<NatsServer[]> {
    const ports = freePorts(SERVERS);
    const routes = ports.map((port) => `nats://127.0.0.1:${port}`);
    return Promise.all(ports.map((_, i) =>
      NatsServer.start(`${directory}/${i}`, [
        ...["--name", `server${i}`, "--cluster_name", "bench", "--cluster", routes[i]],
        ...["--routes", routes.join(",")],
      ])
    ));
  }

  /** The time that it has had on a core so far, in milliseconds. */
  get cpu(): number {
    return cpuOf(this.#child.pid);
  }

  /** Its memory now, in MB. */
  get memory(): number {
    return memoryOf(this.#child.pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.status;
  }
}

/**
 * Makes a stream, as soon as the servers of a cluster have agreed on who leads.
 *
 * @param client of one of them
 * @param name what it is called
 * @param prefix what its subjects are below
 * @param replicas how many servers keep it
 */
export async function makeStream(
  client: NatsConnection,
  name: string,
  prefix: string,
  replicas: number,
): Promise<void> {
  const manager = await jetstreamManager(client, { checkAPI: false });
  for (;;) {
    try {
      await manager.streams.add({ name, subjects: [`${prefix}.>`], num_replicas: replicas });
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

/** Ports that nobody listens on: each server has to be told of the others' before they run. */
function freePorts(count: number): number[] {
  const listeners = Array.from({ length: count }, () => Deno.listen({ hostname: "127.0.0.1", port: 0 }));
  const ports = listeners.map(({ addr }) => addr.port);
  for (const listener of listeners) listener.close();
  return ports;
}
