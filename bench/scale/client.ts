/** Clients of a hub, and hubs, as the measurements of scale have them: real sockets and real processes. */
import { CLI, RUN } from "../measure.ts";
import { Server } from "../server.ts";

const BATCH = "ollie.batch.v1";

/** How many clients may be connecting at once. */
const AT_ONCE = 100;

/** Starts `ollie hub` on a bus. */
export function startHub(...args: string[]): Promise<Server> {
  const command = [
    ...RUN,
    "--allow-net",
    CLI,
    "hub",
    "--listen",
    "127.0.0.1:0",
    "--max-connections",
    "100000",
    ...args,
  ];
  return Server.start(command, "stderr");
}

/** A connection that counts what comes, and tells when all that was waited for has. */
export class Client {
  readonly #socket: WebSocket;
  #received = 0;
  #awaited = Infinity;
  #arrived = () => {};

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }: MessageEvent<string>) => {
      // In a batch, an envelope a line.
      for (let at = 0; at >= 0; at = data.indexOf("\n", at + 1)) this.#received++;
      if (this.#received >= this.#awaited) this.#arrived();
    };
  }

  /**
   * Connects.
   *
   * @param url of a hub
   * @param batch whether it takes several envelopes in a frame
   */
  static async connect(url: string, batch = false): Promise<Client> {
    const socket = new WebSocket(url, batch ? [BATCH] : []);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = () => reject(new Error(`${url} cannot be reached`));
    });
    socket.onerror = null;
    const client = new Client(socket);
    await client.#ping();
    return client;
  }

  /** Connects several, some at a time. */
  static async connectMany(count: number, url: string, batch = false): Promise<Client[]> {
    const clients: Client[] = [];
    while (clients.length < count) {
      const some = Array.from({ length: Math.min(AT_ONCE, count - clients.length) }, () => Client.connect(url, batch));
      clients.push(...await Promise.all(some));
    }
    return clients;
  }

  /** Subscribes; resolves when that is in force. */
  async subscribe(topic: string): Promise<void> {
    this.#socket.send(JSON.stringify({ type: "__subscribe", payload: { topic } }));
    await this.#ping();
  }

  /** Subscribes to all that there ever was of a topic; resolves when the one event of it has come, and word that that was all. */
  async resume(topic: string): Promise<void> {
    const came = this.next(2);
    this.#socket.send(JSON.stringify({ type: "__subscribe", payload: { topic, replay: "all" } }));
    await came;
  }

  /** Publishes. */
  publish(topic: string, payload: string): void {
    this.#socket.send(JSON.stringify({ type: topic, payload }));
  }

  /** Resolves when so many have come, counted from when it is called. Call it before they are published. */
  next(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#received = 0;
      this.#awaited = count;
      this.#arrived = () => {
        this.#awaited = Infinity;
        resolve();
      };
    });
  }

  /** Goes. */
  close(): void {
    this.#socket.close();
  }

  async #ping(): Promise<void> {
    const pong = this.next(1);
    this.#socket.send(JSON.stringify({ type: "__ping", payload: null }));
    await pong;
  }
}
