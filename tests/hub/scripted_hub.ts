/** A hub that does what a test says, for what a real one does not show: refusals, endings at the worst moment, silence, nonsense. */
import assert from "node:assert/strict";
import { Queue } from "../../lib/queue.ts";
import { within } from "../deadline.ts";

/** What a client has sent. */
export interface Asked {
  readonly type: string;
  readonly id: string;
  readonly payload: unknown;
  readonly payload_base64?: string;
  readonly ref?: unknown;
}

/** Things that come one by one, and are waited for. */
class Coming<Item> {
  readonly #items = new Queue<Item>();
  #waiting: ((item: Item) => void)[] = [];

  push(item: Item): void {
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) waiting(item);
    else this.#items.push(item);
  }

  next(what: string): Promise<Item> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    return within(new Promise((resolve) => this.#waiting.push(resolve)), what);
  }

  get size(): number {
    return this.#items.size;
  }
}

/** A hub whose connections are in the hands of the test. */
export class ScriptedHub implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #peers = new Coming<Peer>();
  readonly #all = new Set<Peer>();
  /** The path and headers of each request that came, upgrades too. */
  readonly requests: Request[] = [];

  /** @param options where, and what to answer instead of accepting a connection */
  constructor(options: { readonly port?: number; readonly refuse?: (request: Request) => Response | undefined } = {}) {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: options.port ?? 0, onListen() {} },
      (request) => {
        this.requests.push(request);
        const refusal = options.refuse?.(request);
        if (refusal !== undefined) return refusal;
        const protocols = request.headers.get("sec-websocket-protocol")?.split(/, */) ?? [];
        const { socket, response } = Deno.upgradeWebSocket(request, { protocol: protocols[0] });
        const peer = new Peer(socket, protocols);
        this.#all.add(peer);
        peer.closed.then(() => this.#all.delete(peer));
        socket.addEventListener("open", () => this.#peers.push(peer));
        return response;
      },
    );
  }

  /** Where it listens. */
  get port(): number {
    return this.#server.addr.port;
  }

  /** Its address. */
  get url(): string {
    return `ws://127.0.0.1:${this.port}/`;
  }

  /** The next connection. */
  next(): Promise<Peer> {
    return this.#peers.next("a connection");
  }

  /** How many connections there are now. */
  get size(): number {
    return this.#all.size;
  }

  /** Ends all, as a hub does that is restarted. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const peer of this.#all) peer.close(1001, "the hub is ending");
    await within(Promise.all(Array.from(this.#all, (peer) => peer.closed)), "the end of the connections");
    await this.#server.shutdown();
  }
}

/** One connection of a client. */
export class Peer {
  /** The subprotocols that the client offered. */
  readonly protocols: readonly string[];
  /** How the connection ended. */
  readonly closed: Promise<CloseEvent>;
  readonly #socket: WebSocket;
  readonly #asked = new Coming<Asked>();

  /** @param socket the hub's end */
  constructor(socket: WebSocket, protocols: readonly string[]) {
    this.#socket = socket;
    this.protocols = protocols;
    socket.addEventListener("message", ({ data }) => this.#asked.push(JSON.parse(data)));
    this.closed = new Promise((resolve) => socket.addEventListener("close", resolve));
  }

  /** The next frame that the client sends. */
  next(): Promise<Asked> {
    return this.#asked.next("a frame of the client");
  }

  /** The next frame, which must be of that type. Returns its payload. */
  async expect(type: string): Promise<Asked> {
    const asked = await this.next();
    assert.equal(asked.type, type);
    return asked;
  }

  /** How many frames have come and have not been asked for. */
  get waiting(): number {
    return this.#asked.size;
  }

  /** Waits for a `__subscribe`, and says yes. Returns what it asked for. */
  async accept(at?: string | null, time?: string): Promise<unknown> {
    const { payload } = await this.expect("__subscribe");
    this.subscribed(payload, at, time);
    return payload;
  }

  /** Says yes to a `__subscribe`. */
  subscribed(payload: unknown, at?: string | null, time?: string): void {
    this.send({ type: "__subscribed", payload: { topic: topicOf(payload), at, time } });
  }

  /** Says no to a `__subscribe`. */
  async refuse(reason: string, topic?: string): Promise<unknown> {
    const { payload } = await this.expect("__subscribe");
    this.send({ type: "__error", payload: { reason, topic: topic ?? topicOf(payload) } });
    return payload;
  }

  /** Waits for an event, and says that it is on the bus. Returns its payload. */
  async publish(at = "1"): Promise<unknown> {
    const { type, ref, payload } = await this.next();
    assert(!type.startsWith("__"), `${type} is no event`);
    this.send({ type: "__published", payload: { ref, at, time: timeOf(0) } });
    return payload;
  }

  /** Sends envelopes, in one frame. */
  send(...envelopes: readonly object[]): void {
    this.raw(envelopes.map((envelope) => JSON.stringify({ id: "", ...envelope })).join("\n"));
  }

  /** Sends events of the topic `n`, whose payloads, ids and times are these numbers. */
  events(...numbers: readonly number[]): void {
    this.send(...numbers.map((n) => eventOf("n", n)));
  }

  /** Sends a frame. */
  raw(frame: string | Uint8Array<ArrayBuffer>): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(frame);
  }

  /** Ends the connection. */
  close(code?: number, reason?: string): void {
    this.#socket.close(code, reason);
  }
}

/** An event as a hub sends it, published in the given second. */
export function eventOf(type: string, n: number): object {
  return { type, payload: n, at: String(n), time: timeOf(n) };
}

/** A time some seconds after the first one. */
export function timeOf(seconds: number): string {
  return new Date(Date.UTC(2026, 4, 8) + seconds * 1000).toISOString().replace("Z", "000000Z");
}

function topicOf(payload: unknown): unknown {
  assert(typeof payload === "object" && payload !== null && "topic" in payload);
  return payload.topic;
}
