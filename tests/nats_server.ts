/** A real `nats-server`, started on a free port, which can be killed and started again where it was. */
import {
  jetstreamManager,
  type NatsConnection,
  NatsConnectionImpl,
  setTransportFactory,
} from "../lib/bus/nats/library.ts";
import { DenoTransport } from "../lib/bus/nats/transport.ts";
import { has } from "./cli/ollie.ts";
import { until, within } from "./deadline.ts";
import { temporaryDirectory } from "./temporary.ts";

/** Whether tests that need a server have to be left out. */
export const ignore = !has("nats-server");
if (ignore) console.error("there is no nats-server on this machine: what runs on NATS is not tried");

/** What a server is started with. */
export interface NatsServerOptions {
  /** Whether it keeps streams. */
  readonly jetStream?: boolean;
  /** Lines of its configuration. */
  readonly config?: string;
}

/** A server. It is killed, and what it has kept removed, at the end of the block. */
export class NatsServer implements AsyncDisposable {
  /** The port of 127.0.0.1 that it listens on. */
  readonly port: number;
  readonly #directory: Disposable & { readonly path: string };
  readonly #arguments: readonly string[];
  #child: Deno.ChildProcess;

  private constructor(
    directory: Disposable & { readonly path: string },
    args: readonly string[],
    port: number,
    child: Deno.ChildProcess,
  ) {
    this.#directory = directory;
    this.#arguments = args;
    this.port = port;
    this.#child = child;
  }

  /** Starts one. */
  static async start({ jetStream = false, config = "" }: NatsServerOptions = {}): Promise<NatsServer> {
    const directory = temporaryDirectory();
    Deno.writeTextFileSync(`${directory.path}/config`, config);
    const args = ["-c", `${directory.path}/config`, "-a", "127.0.0.1"];
    if (jetStream) args.push("-js", "-sd", `${directory.path}/streams`);
    const child = spawn([...args, "-p", "-1", "--ports_file_dir", directory.path]);
    const port = await within(portOf(directory.path, child.pid), "the port of nats-server");
    return new NatsServer(directory, args, port, child);
  }

  /** An address at it. */
  url(prefix = "ollie"): string {
    return `nats://127.0.0.1:${this.port}/${prefix}`;
  }

  /** Connects somebody who knows nothing of Ollie. */
  connect(): Promise<NatsConnection> {
    setTransportFactory({ factory: () => new DenoTransport() });
    return NatsConnectionImpl.connect({ servers: `127.0.0.1:${this.port}` });
  }

  /** Does something to its streams, as its administrator. */
  async administer(
    work: (manager: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<unknown>,
  ): Promise<void> {
    const nats = await this.connect();
    try {
      await work(await jetstreamManager(nats));
    } finally {
      await nats.close();
    }
  }

  /** Kills it, without a warning. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.status;
  }

  /** Starts it again, and waits until it answers. */
  async restart(): Promise<void> {
    this.#child = spawn([...this.#arguments, "-p", `${this.port}`]);
    await until("nats-server", () => answers(this.port));
  }

  /** Keeps it from doing anything, until it is told to {@linkcode goOn}. */
  async stop(): Promise<void> {
    this.#child.kill("SIGSTOP");
    const status = `/proc/${this.#child.pid}/stat`;
    await until("the stop", () => /\) T /.test(Deno.readTextFileSync(status)));
  }

  /** Lets it go on. */
  goOn(): void {
    this.#child.kill("SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.kill();
    } catch {
      // It has been killed already.
    }
    this.#directory[Symbol.dispose]();
  }
}

function spawn(args: readonly string[]): Deno.ChildProcess {
  return new Deno.Command("nats-server", { args: [...args], stdin: "null", stdout: "null", stderr: "null" }).spawn();
}

/** The server writes its ports into a file that is called after its process. */
async function portOf(directory: string, pid: number): Promise<number> {
  let port: number | undefined;
  await until("the ports of nats-server", () => {
    try {
      const { nats } = JSON.parse(Deno.readTextFileSync(`${directory}/nats-server_${pid}.ports`));
      port = Number(new URL(nats[0]).port);
    } catch {
      // Not yet, or not all of it.
    }
    return port !== undefined && answers(port);
  });
  return port ?? 0;
}

async function answers(port: number): Promise<boolean> {
  try {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const buffer = new Uint8Array(8);
    return await connection.read(buffer) !== null;
  } catch {
    return false;
  }
}
