/**
 * Why a connection to a hub could not be made. A browser's `WebSocket` does not tell, and others tell little; where it is worth
 * knowing, the hub's HTTP server is asked.
 *
 * @module
 */
import { missingPermission } from "../../os_error.ts";
import type { HubAddress } from "./address.ts";
import type { Ending } from "./connection.ts";

/** How long the HTTP server may take to answer, in milliseconds. */
const PROBE_MS = 5000;

/**
 * Whether a hub said that this client may not connect, so that trying again is of no use.
 *
 * @param ending how the attempt ended
 */
export function isForbidden({ status }: Ending): boolean {
  return status === 401 || status === 403;
}

/**
 * Says why a connection could not be made, as far as it can be found out.
 *
 * @param address where the hub should be
 * @param ending how the attempt ended
 * @returns words that can follow a colon
 */
export async function reasonOfRefusal(address: HubAddress, ending: Ending): Promise<string> {
  if (ending.opened) return ending.reason;
  const missing = missingPermission(ending.reason);
  if (missing !== undefined) return missing;
  const status = ending.status ?? await statusOf(address);
  if (status === undefined) {
    const other = otherScheme(address.url);
    // A token is nothing to show to whoever answers.
    if (await statusOf({ url: other.href, token: undefined }) !== undefined) {
      const how = other.protocol === "wss:" ? "with TLS alone" : "without TLS";
      return `what answers there does so ${how}: its address is ${other.protocol}//${other.host}`;
    }
    return `no hub answers there, as far as can be told (${ending.reason})`;
  }
  if (status === 401) {
    return address.token === undefined
      ? "the hub lets nobody in without a token, and none was given (401)"
      : "the hub does not know the token (401)";
  }
  if (status === 403) return "the hub lets in neither every host name nor every origin, and not this one (403)";
  if (status === 503) return "the hub has as many connections as it takes (503)";
  return `what answers there takes no WebSocket (status ${status}): it is no hub, or the path is wrong`;
}

/** The same address with TLS, if it is one without, and without, if it is one with it. */
function otherScheme(url: string): URL {
  return new URL(url.replace(/^wss?:/, (scheme) => scheme === "ws:" ? "wss:" : "ws:"));
}

/** The status that the HTTP server gives this client; `undefined` if there is none, or it does not let us see. */
async function statusOf({ url, token }: HubAddress): Promise<number | undefined> {
  const probe = new URL("/metrics", url);
  probe.protocol = probe.protocol === "wss:" ? "https:" : "http:";
  try {
    const response = await fetch(probe, {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      redirect: "manual",
      signal: AbortSignal.timeout(PROBE_MS),
    });
    await response.body?.cancel();
    return response.status;
  } catch {
    return undefined;
  }
}
