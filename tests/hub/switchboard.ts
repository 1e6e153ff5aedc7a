/** An address that can lead to one server now and to another later, as that of a load balancer does. */

/** Passes connections on. */
export class Switchboard implements AsyncDisposable {
  /** The port of the server that new connections lead to. */
  target: number;
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #connections = new Set<Deno.Conn>();
  readonly #serving: Promise<void>;

  /** @param target the port of the server that connections lead to at first */
  constructor(target: number) {
    this.target = target;
    this.#serving = this.#serve();
  }

  /** The port that it listens on. */
  get port(): number {
    return this.#listener.addr.port;
  }

  async #serve(): Promise<void> {
    const passing: Promise<void>[] = [];
    for await (const connection of this.#listener) passing.push(this.#pass(connection));
    await Promise.all(passing);
  }

  async #pass(connection: Deno.Conn): Promise<void> {
    this.#connections.add(connection);
    try {
      const onward = await Deno.connect({ hostname: "127.0.0.1", port: this.target });
      this.#connections.add(onward);
      await Promise.all([
        connection.readable.pipeTo(onward.writable),
        onward.readable.pipeTo(connection.writable),
      ]);
    } catch {
      // One of the two has ended, and so do both.
    } finally {
      this.#end(connection);
    }
  }

  #end(connection: Deno.Conn): void {
    this.#connections.delete(connection);
    try {
      connection.close();
    } catch {
      // It has ended.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#connections) this.#end(connection);
    await this.#serving;
  }
}
