/**
 * Where a hub is, and what lets a client in there.
 *
 * @module
 */
import { BusError } from "../../bus.ts";

/** A hub's address, taken apart. */
export interface HubAddress {
  /** The URL to connect to; a token is no part of it, so it can be shown. */
  readonly url: string;
  /** The token to show there, if there is one. */
  readonly token: string | undefined;
}

/** What a WebSocket's subprotocol may be made of: a token is sent as the end of one. */
const SUBPROTOCOL = /^[\w!#$%&'*+.^`|~-]+$/;

/**
 * Takes a hub's address apart.
 *
 * @param address `ws://HOST:PORT/` or `wss://HOST/`; a token may stand before the host, as in `ws://:TOKEN@HOST/`
 * @param token the token, if it does not stand there
 * @throws {BusError} if it is no such address, or the token cannot be sent
 *
 * @example
 * ```ts
 * import { parseHubAddress } from "./address.ts";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(parseHubAddress("ws://:secret@127.0.0.1:8080"), { url: "ws://127.0.0.1:8080/", token: "secret" });
 * ```
 */
export function parseHubAddress(address: string | URL, token?: string): HubAddress {
  let url;
  try {
    url = new URL(address);
  } catch {
    throw notAnAddress(address, "it is not a URL");
  }
  if (url.protocol !== "ws:" && url.protocol !== "wss:") throw notAnAddress(address, "it begins with something else");
  if (url.hash !== "") throw notAnAddress(address, "a WebSocket's URL has no # in it");
  // Not shown: what stands there may be the token itself.
  if (url.username !== "") {
    throw new BusError(`a hub knows no user names: its token goes after a colon, as in ${url.protocol}//:TOKEN@HOST/`);
  }
  token ??= url.password === "" ? undefined : decoded(url.password);
  url.password = "";
  if (token !== undefined && !SUBPROTOCOL.test(token)) {
    throw new BusError(
      `the token for ${url.href} cannot be sent: it must be made of letters, digits and !#$%&'*+-.^_\`|~, and not be empty`,
    );
  }
  return { url: url.href, token };
}

function decoded(password: string): string {
  try {
    return decodeURIComponent(password);
  } catch {
    // A bare % is one; what cannot be sent is found by whoever looks next.
    return password;
  }
}

function notAnAddress(address: string | URL, reason: string): BusError {
  const shown = JSON.stringify(`${address}`.replace(/\/\/[^/]*@/, "//"));
  return new BusError(`${shown} is not a hub's address: ${reason}; it would be ws://HOST:PORT/ or wss://HOST/`);
}
