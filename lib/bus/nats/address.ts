/**
 * Where a NATS server is, and what lets a client in there.
 *
 * @module
 */
import { BusError } from "../../bus.ts";

/** A NATS bus's address, taken apart. */
export interface NatsAddress {
  /** The servers, as `HOST:PORT`; any of them will do. */
  readonly servers: readonly string[];
  /** Whether nothing is said to a server that does not speak TLS. */
  readonly tls: boolean;
  /** What the bus's subjects are below. */
  readonly prefix: string;
  /** Who wants to come in, if the address says so. */
  readonly login: Login | undefined;
  /** The address without the login, so that it can be shown. */
  readonly shown: string;
}

/** A user with a password, or a token. */
export type Login = { readonly user: string; readonly pass: string } | { readonly token: string };

/** What an address looks like. The login ends at the last `@`: somebody may have forgotten to write one in it as `%40`. */
const ADDRESS = /^(nats|tls):\/\/(?:(.*)@)?([^/@]*)(?:\/(.*))?$/is;

const DEFAULT_PORT = 4222;

/** How long a prefix may be: with a topic after it, it must fit what a server takes as a subject. */
const MAX_PREFIX_BYTES = 200;

/**
 * Takes a NATS bus's address apart.
 *
 * @param address `nats://[USER:PASSWORD@]HOST[:PORT][,HOST…]/PREFIX`, or `tls://`; a token may stand in the login's place
 * @throws {BusError} if it is no such address; the login is no part of what it says
 *
 * @example
 * ```ts
 * import { parseNatsAddress } from "./address.ts";
 * import assert from "node:assert/strict";
 *
 * const { servers, prefix, shown } = parseNatsAddress("nats://ollie:secret@a,b:4223/events");
 * assert.deepEqual(servers, ["a:4222", "b:4223"]);
 * assert.equal(prefix, "events");
 * assert.equal(shown, "nats://a:4222,b:4223/events");
 * ```
 */
export function parseNatsAddress(address: string): NatsAddress {
  const [, scheme, login, hosts, prefix = ""] = ADDRESS.exec(address) ?? [];
  if (scheme === undefined) throw notAnAddress(address, "it does not begin with nats:// or tls:// and a host");
  const servers = hosts.split(",").map((host) => serverOf(host) ?? "");
  if (servers.includes("")) throw notAnAddress(address, `${JSON.stringify(hosts)} is no list of hosts`);
  if (prefix === "") throw notAnAddress(address, "it says no prefix for its subjects");
  if (/[?#]/.test(prefix)) throw notAnAddress(address, "it ends with the prefix: a stream is named by an option");
  if (!isPrefix(prefix)) {
    throw notAnAddress(
      address,
      `${
        JSON.stringify(prefix)
      } is no prefix: it is made of words joined by dots, without white space, /, * and >, is at ` +
        `most ${MAX_PREFIX_BYTES} bytes long, and begins with neither $ nor _`,
    );
  }
  return {
    servers,
    tls: scheme.toLowerCase() === "tls",
    prefix,
    login: login === undefined ? undefined : loginOf(login),
    shown: `${scheme.toLowerCase()}://${servers.join(",")}/${prefix}`,
  };
}

/** `HOST:PORT`, if it is that or a host. */
function serverOf(host: string): string | undefined {
  const [, name, digits = String(DEFAULT_PORT)] = /^([\w.-]+|\[[0-9a-f:.]+\])(?::(\d+))?$/i.exec(host) ?? [];
  const port = Number(digits);
  return name === undefined || port < 1 || port > 65_535 ? undefined : `${name}:${port}`;
}

function isPrefix(text: string): boolean {
  const words = text.split(".");
  // deno-lint-ignore no-control-regex
  if (/[\s\0-\x1f\x7f-\x9f/]/.test(text) || /^[$_]/.test(text) || !text.isWellFormed()) return false;
  return words.every((word) => word !== "" && !/[*>]/.test(word)) &&
    new TextEncoder().encode(text).length <= MAX_PREFIX_BYTES;
}

function loginOf(text: string): Login {
  const [, user, pass] = /^([^:]*)(?::(.*))?$/s.exec(text) ?? [];
  return pass === undefined ? { token: decoded(user) } : { user: decoded(user), pass: decoded(pass) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A bare % is one.
    return text;
  }
}

function notAnAddress(address: string, reason: string): BusError {
  const shown = JSON.stringify(address.replace(/^([a-z]*:)?(\/\/)?.*@/is, "$1$2"));
  return new BusError(`${shown} is not the address of a NATS bus: ${reason}; it would be nats://HOST:PORT/PREFIX`);
}
