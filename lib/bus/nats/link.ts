/**
 * The connection to NATS: one for all that a bus does. It is made anew for as long as it takes when it has ended, and those who
 * use it are told of both.
 *
 * @module
 */
import { BusError } from "../../bus.ts";
import { reasonOf as reasonOfSystem } from "../../os_error.ts";
import type { NatsAddress } from "./address.ts";
import {
  type ConnectionOptions,
  credsAuthenticator,
  errors,
  type NatsConnection,
  NatsConnectionImpl,
  setTransportFactory,
} from "./library.ts";
import { DenoTransport } from "./transport.ts";

/** How long a server may take to answer when somebody connects, in milliseconds. */
const CONNECT_MS = 5000;
/** How long to wait before the next attempt to connect again, in milliseconds, and by how much that varies. */
const RETRY_MS = 250;
/** How often a server is asked whether it is still there, in milliseconds; after two answers too few it is not. */
const PING_MS = 10_000;

/** Who is told of what becomes of a connection. */
export interface LinkUser {
  /** It has ended, and is being made anew. */
  down(): void;
  /** It is there again. */
  up(): void;
  /** It has ended for good. */
  lost(error: BusError): void;
}

/** A connection, and whether it is there. */
export class Link {
  /** The client's own, for what is sent and received. */
  readonly connection: NatsConnection;
  /** Where it leads, without what must not be shown. */
  readonly shown: string;
  readonly #users = new Set<LinkUser>();
  #isUp = true;
  #isClosed = false;

  private constructor(connection: NatsConnection, shown: string) {
    this.connection = connection;
    this.shown = shown;
    this.#watch();
    connection.closed().then((error) => this.#lost(error));
  }

  /**
   * Connects.
   *
   * @param address where to
   * @param credentials what a credentials file holds, if there is one
   * @throws {BusError} if no server of them lets us in
   */
  static async open(address: NatsAddress, credentials: string | undefined): Promise<Link> {
    const options: ConnectionOptions = {
      servers: [...address.servers],
      name: "ollie",
      timeout: CONNECT_MS,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RETRY_MS,
      reconnectJitter: RETRY_MS,
      reconnectJitterTLS: RETRY_MS,
      pingInterval: PING_MS,
      // A stack for each request costs more than the request.
      noAsyncTraces: true,
      ...address.tls ? { tls: {} } : {},
      ...address.login ?? {},
      ...credentials === undefined ? {} : { authenticator: credsAuthenticator(new TextEncoder().encode(credentials)) },
    };
    try {
      setTransportFactory({ factory: () => new DenoTransport() });
      return new Link(await NatsConnectionImpl.connect(options), address.shown);
    } catch (error) {
      throw new BusError(`cannot connect to ${address.shown}: ${reasonOf(error)}`, { cause: error });
    }
  }

  /** Whether it is there, as far as is known. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** How many bytes a message may be long, with its headers. */
  get maxPayload(): number {
    return this.connection.info?.max_payload ?? Infinity;
  }

  /** What the cluster is called, or the server, where that is one by itself. */
  get serverName(): string {
    const { cluster, server_name, server_id } = this.connection.info ?? {};
    return cluster ?? server_name ?? server_id ?? "";
  }

  /** Tells somebody of what becomes of it. */
  add(user: LinkUser): void {
    this.#users.add(user);
  }

  /** Tells somebody no more. */
  delete(user: LinkUser): void {
    this.#users.delete(user);
  }

  /** Ends it. Nobody is told. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#users.clear();
    await this.connection.close();
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.connection.status()) {
      if (type === "disconnect") {
        this.#isUp = false;
        for (const user of this.#users) user.down();
      } else if (type === "reconnect") {
        this.#isUp = true;
        for (const user of this.#users) user.up();
      }
    }
  }

  /** The client has given up: it was refused twice, say, since its credentials have expired. */
  #lost(error: Error | void): void {
    if (this.#isClosed) return;
    this.#isUp = false;
    const why = error === undefined ? "" : `: ${reasonOf(error)}`;
    const lost = new BusError(`the connection to ${this.shown} has ended for good${why}`, { cause: error });
    for (const user of this.#users) user.lost(lost);
  }
}

/**
 * Says why something failed.
 *
 * @param error what the client has thrown
 */
export function reasonOf(error: unknown): string {
  if (error instanceof errors.AuthorizationError) return "it lets nobody in with this login, or with none";
  if (error instanceof errors.UserAuthenticationExpiredError) return "the credentials have expired";
  if (error instanceof errors.TimeoutError) return "it does not answer";
  if (error instanceof Deno.errors.NotCapable) return "Deno does not allow it: it takes --allow-net";
  const said = reasonOfSystem(error);
  if (said === "unable to parse credentials") return "the credentials are not what a credentials file holds";
  return said;
}
