/**
 * The hub's HTTP: WebSockets, and beside them what `curl`, `EventSource`, Prometheus and a browser's address bar ask for.
 *
 * @module
 */
import { type Bus, BusError, type SubscribeOptions } from "../bus.ts";
import { BEFORE_ALL } from "../bus/place.ts";
import { concatenated } from "../bytes.ts";
import { checkTopic, TopicError } from "../event.ts";
import { checkFilter, FilterError } from "../filter.ts";
import { messageOf } from "../thrown.ts";
import { waitAtMost } from "../waiting.ts";
import { Access } from "./access.ts";
import { EnvelopeError } from "./envelope.ts";
import type { Hub } from "./hub.ts";
import { metricsText } from "./metrics.ts";
import type { Page } from "./page.ts";
import { BATCH_PROTOCOL, PLAIN_PROTOCOL, TOKEN_PROTOCOL_PREFIX } from "./protocol.ts";
import { parseReplay } from "./requests.ts";
import { EventSourceStream, START_ID } from "./stream.ts";
import { protocolsOf, tokenOf, type Tokens } from "./tokens.ts";
import type { Visitors } from "./visitors.ts";

/** Of the protocol of WebSockets, RFC 6455. */
const VERSION = "13";

/** How long a peer may be silent, in seconds: halfway it is asked whether it is there, and at the end taken for dead. */
const IDLE_S = 30;

/** What a {@linkcode HubServer} is made of. */
export interface HubServerOptions {
  /** Where the past is, for streams. */
  readonly bus: Bus;
  /** What connections are added to. */
  readonly hub: Hub;
  /** Who may talk to it. */
  readonly visitors: Visitors;
  /** Who may do what; everybody everything if not given. */
  readonly tokens?: Tokens;
  /** Whether those without a token may do all, although there are tokens. */
  readonly anonymous: boolean;
  /** How many sockets and streams there may be. */
  readonly maxConnections: number;
  /** How long a body that is published may be, in bytes. */
  readonly maxMessage: number;
  /** How long the peer of a socket may be silent, and leave a ping unanswered, in seconds. 30 if not given. */
  readonly idleTimeout?: number;
  /** The dashboard. */
  readonly page: Page;
  /** Is told why somebody was not let in, for whoever runs the hub. */
  readonly onRefused?: (reason: string) => void;
}

/** How long the rest of a body that is refused is waited for, in milliseconds. */
const DRAIN_MS = 1000;

/** An answer that is not what was asked for. */
class Refusal extends Error {
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** Answers requests. */
export class HubServer {
  readonly #options: HubServerOptions;
  readonly #sockets = new Set<WebSocket>();
  readonly #streams = new Set<EventSourceStream>();
  #closed = false;
  #allClosed: (() => void) | undefined;

  /** @param options what it is made of */
  constructor(options: HubServerOptions) {
    this.#options = options;
  }

  /**
   * Answers a request.
   *
   * @param request what is asked
   */
  async handle(request: Request): Promise<Response> {
    const { visitors } = this.#options;
    if (!URL.canParse(request.url)) return answerOf(new Refusal(400, "the Host of this request is none"));
    const refusal = visitors.refusal(request);
    if (refusal !== undefined) {
      // A browser does not show its user why.
      this.#options.onRefused?.(refusal);
      return answerOf(new Refusal(403, refusal));
    }
    const response = await this.#answer(request);
    // The headers of an upgrade are not ours to change.
    if (response.status !== 101) {
      response.headers.set("x-content-type-options", "nosniff");
      for (const [name, value] of Object.entries(visitors.corsHeaders(request))) response.headers.set(name, value);
    }
    return response;
  }

  async #answer(request: Request): Promise<Response> {
    try {
      return await this.#route(request);
    } catch (error) {
      const refusal = asRefusal(error);
      if (new URL(request.url).protocol === "https:") {
        await waitAtMost(DRAIN_MS, drained(request, this.#options.maxMessage));
      }
      return answerOf(refusal);
    }
  }

  /**
   * Ends every connection and stream.
   *
   * @returns once all sockets have closed; a peer that does not read may keep one from it for as long as it likes
   */
  async close(): Promise<void> {
    this.#closed = true;
    for (const stream of this.#streams) stream.end();
    await this.#options.hub.close();
    if (this.#sockets.size > 0) await new Promise<void>((resolve) => this.#allClosed = resolve);
  }

  #route(request: Request): Response | Promise<Response> {
    const { pathname } = new URL(request.url);
    if (this.#closed) throw new Refusal(503, "this hub is ending");
    if (request.headers.get("upgrade")?.toLowerCase() === "websocket") return this.#upgrade(request);
    if (request.method === "OPTIONS") {
      return new Response(null, { status: 204, headers: { allow: "GET, POST, OPTIONS" } });
    }
    const [, name, rest] = /^\/([^/]*)(?:\/(.*))?$/s.exec(pathname) ?? [];
    if (name === "pub" && rest !== undefined) return this.#publish(only("POST", request), decoded(rest));
    if (name === "sub" && rest !== undefined) return this.#stream(only("GET", request), decoded(rest));
    if (pathname === "/healthz") {
      only("GET", request);
      return text("ok\n");
    }
    if (pathname === "/metrics") return this.#metrics(only("GET", request));
    const response = this.#options.page.respond(pathname);
    if (response === undefined) {
      throw new Refusal(
        404,
        `there is no ${pathname} here: there are /, /pub/TOPIC, /sub/FILTER, /healthz and /metrics`,
      );
    }
    only("GET", request);
    return response;
  }

  async #metrics(request: Request): Promise<Response> {
    await this.#authenticate(request);
    const stats = { streams: this.#streams.size, sockets: this.#sockets.size };
    return text(metricsText(this.#options.hub.stats, stats), "text/plain; version=0.0.4; charset=utf-8");
  }

  async #publish(request: Request, topic: string): Promise<Response> {
    const access = await this.#authenticate(request);
    checkTopic(topic);
    if (access?.mayPublish(topic) === false) {
      throw new Refusal(403, `${access.name ?? "who has no token"} may not publish ${JSON.stringify(topic)}`);
    }
    const payload = await bodyOf(request, this.#options.maxMessage);
    const { id, time } = await this.#options.hub.publish(topic, payload);
    return text(`${JSON.stringify({ id, time })}\n`, "application/json", 201);
  }

  async #stream(request: Request, filter: string): Promise<Response> {
    const access = await this.#authenticate(request);
    checkFilter(filter);
    if (access?.maySubscribe(filter) === false) {
      throw new Refusal(403, `${access.name ?? "who has no token"} may not subscribe to ${JSON.stringify(filter)}`);
    }
    this.#admit();
    const lastId = request.headers.get("last-event-id");
    const common = {
      bus: this.#options.bus,
      filter,
      mayReceive: (topic: string) => access?.mayReceive(topic) ?? true,
      position: this.#options.hub.position,
      onEnd: () => this.#streams.delete(stream),
    };
    let stream: EventSourceStream;
    try {
      const from = lastId === null || lastId === "" ? beginningOf(request) : beginningAfter(decodeHeader(lastId));
      stream = new EventSourceStream({ ...common, from, warning: undefined });
    } catch (error) {
      // An EventSource that is refused does not come back; and what it has missed, it is to be told.
      if (!(error instanceof BusError)) throw error;
      if (lastId === null) throw new Refusal(400, error.message);
      const warning = `events may have been missed: ${error.message}`;
      stream = new EventSourceStream({ ...common, from: "now", warning });
    }
    this.#streams.add(stream);
    return new Response(stream.body, {
      headers: { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" },
    });
  }

  async #upgrade(request: Request): Promise<Response> {
    if (request.method !== "GET" || request.headers.get("sec-websocket-version") !== VERSION) {
      throw new Refusal(426, `this hub speaks version ${VERSION} of WebSocket, which begins with a GET`, {
        upgrade: "websocket",
        "sec-websocket-version": VERSION,
      });
    }
    const access = await this.#authenticate(request);
    this.#admit();
    const offered = protocolsOf(request);
    const protocol = [BATCH_PROTOCOL, PLAIN_PROTOCOL].find((name) => offered.includes(name)) ??
      offered.find((name) => !name.startsWith(TOKEN_PROTOCOL_PREFIX)) ?? offered[0];
    let upgrade: Deno.WebSocketUpgrade;
    try {
      upgrade = Deno.upgradeWebSocket(withSpacedProtocols(request, offered), {
        protocol,
        idleTimeout: this.#options.idleTimeout ?? IDLE_S,
      });
    } catch (error) {
      throw new Refusal(400, `this is no WebSocket: ${messageOf(error)}`);
    }
    const { socket, response } = upgrade;
    this.#sockets.add(socket);
    const { hub } = this.#options;
    let isOpen = false;
    const forget = () => {
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) this.#allClosed?.();
    };
    socket.onopen = () => {
      isOpen = true;
      hub.addConnection(socket, { access, batch: protocol === BATCH_PROTOCOL });
    };
    socket.onclose = forget;
    // What has never opened does not close, either.
    socket.onerror = () => {
      if (!isOpen) forget();
    };
    return response;
  }

  #admit(): void {
    const { maxConnections } = this.#options;
    if (this.#sockets.size + this.#streams.size >= maxConnections) {
      throw new Refusal(503, `there are ${maxConnections} connections, as many as may be`, { "retry-after": "5" });
    }
  }

  /** Finds out what somebody may do; `undefined` stands for everything. */
  async #authenticate(request: Request): Promise<Access | undefined> {
    const { tokens, anonymous } = this.#options;
    if (tokens === undefined) return undefined;
    const token = tokenOf(request);
    const access = token === undefined ? undefined : await tokens.accessOf(token);
    if (access !== undefined) return access;
    if (token === undefined && anonymous) return new Access({});
    throw new Refusal(401, token === undefined ? "this hub asks for a token" : "this hub does not know that token", {
      "www-authenticate": "Bearer",
    });
  }
}

/** The platform finds a subprotocol only where the list is written with spaces, which some clients leave out. */
function withSpacedProtocols(request: Request, offered: readonly string[]): Request {
  if (offered.length < 2) return request;
  const headers = new Headers(request.headers);
  headers.set("sec-websocket-protocol", offered.join(", "));
  // Another request would not be the one that is upgraded.
  return Object.create(request, { headers: { value: headers } });
}

function only(method: "GET" | "POST", request: Request): Request {
  const allowed = method === "GET" ? ["GET", "HEAD"] : [method];
  if (allowed.includes(request.method)) return request;
  throw new Refusal(405, `this takes ${method}, not ${request.method}`, { allow: allowed.join(", ") });
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new Refusal(400, "the path is not UTF-8 in percent-encoding");
  }
}

/** `EventSource` sends an id as UTF-8, of which each byte is a character here. */
function decodeHeader(value: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(
      Uint8Array.from(value, (character) => character.charCodeAt(0)),
    );
  } catch {
    return value;
  }
}

function beginningAfter(id: string): NonNullable<SubscribeOptions["from"]> {
  return id === START_ID ? BEFORE_ALL : { after: id };
}

/** Where a stream is to begin, as its address says. */
function beginningOf(request: Request): NonNullable<SubscribeOptions["from"]> {
  const { searchParams } = new URL(request.url);
  const unknown = [...searchParams.keys()].find((name) => name !== "after" && name !== "replay");
  if (unknown !== undefined) {
    throw new Refusal(400, `there is no ${JSON.stringify(unknown)} here: there are replay= and after=`);
  }
  const after = searchParams.get("after");
  const replay = searchParams.get("replay");
  if (after !== null && replay !== null) {
    throw new Refusal(400, "after= and replay= both say where to begin: one of them can");
  }
  // In a form a + is a space; ids hold none, and whoever pastes one does not write %2B.
  if (after !== null) return { after: after.replaceAll(" ", "+") };
  return replay === null ? "now" : parseReplay(/^\d+$/.test(replay) ? Number(replay) : replay) ?? "now";
}

/** The body of a request, if it is not too long. */
async function bodyOf(request: Request, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = () => new Refusal(413, `this is too large: ${maxBytes} bytes are allowed`);
  if (Number(request.headers.get("content-length")) > maxBytes) throw tooLarge();
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const piece of request.body ?? []) {
      bytes += piece.length;
      if (bytes > maxBytes) throw tooLarge();
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(400, "the body has not come to its end");
  }
  return pieces.length === 0 ? new Uint8Array(0) : concatenated(pieces);
}

function text(body: string, type = "text/plain; charset=utf-8", status = 200): Response {
  return new Response(body, { status, headers: { "content-type": type, "cache-control": "no-store" } });
}

/** Takes what is left of a body, so far: over HTTP/2, some clients do not see an answer that comes before it has been taken. */
async function drained(request: Request, maxBytes: number): Promise<void> {
  if (request.body === null || request.bodyUsed || request.body.locked) return;
  try {
    let bytes = 0;
    for await (const piece of request.body) {
      bytes += piece.length;
      if (bytes > maxBytes) return;
    }
  } catch {
    // The client has given up.
  }
}

function answerOf({ status, message, headers }: Refusal): Response {
  return new Response(`${message}\n`, { status, headers: { "content-type": "text/plain; charset=utf-8", ...headers } });
}

function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof TopicError || error instanceof FilterError || error instanceof EnvelopeError) {
    return new Refusal(400, error.message);
  }
  if (error instanceof BusError) return new Refusal(503, error.message);
  throw error;
}
