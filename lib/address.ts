/**
 * The addresses of buses: which kind of bus one is of, and what it says beyond that.
 *
 * @module
 */
import { BusError } from "./bus.ts";

/** How those addresses begin that are not a directory's. */
export const ADDRESS_PREFIXES = ["mem:", "unix:", "tcp:", "ws://", "wss://", "nats://", "tls://"] as const;

/** The kinds of buses. */
export type BusScheme = "dir" | "mem" | "9p" | "ws" | "nats";

/**
 * What kind of bus an address is of, and what it says beyond that.
 *
 * @param address a path, or such as `dir:PATH`, `mem:`, `unix:PATH`, `tcp:HOST:PORT`, `ws://HOST:PORT` or
 * `nats://HOST:PORT/PREFIX`
 * @throws {BusError} if it is of no known kind
 */
export function parseAddress(address: string): { scheme: BusScheme; rest: string } {
  // Plan 9 writes ! for :, and no directory should come about by that.
  if (/^(unix|tcp)[:!]/.test(address)) return { scheme: "9p", rest: address };
  if (/^wss?:/i.test(address)) return { scheme: "ws", rest: address };
  if (/^(nats|tls):/i.test(address)) return { scheme: "nats", rest: address };
  const [, scheme = "dir", rest = address] = /^([a-z][a-z0-9+.-]+):(.*)$/is.exec(address) ?? [];
  if (scheme === "dir") {
    if (rest === "") throw new BusError("the bus has no name: for the current directory, say .");
  } else if (scheme === "mem") {
    if (rest !== "") throw new BusError(`${JSON.stringify(address)} is not a bus: mem: is followed by nothing`);
  } else if (scheme === "http" || scheme === "https") {
    const shown = withoutLogin(address);
    throw new BusError(
      `${JSON.stringify(shown)} is not a bus: a hub's address is written ${shown.replace("http", "ws")}`,
    );
  } else {
    const shown = address.replace(/\/\/.*@/s, "//");
    throw new BusError(
      `${JSON.stringify(shown)} is not a bus that this ollie knows: it knows directories and ` +
        `${ADDRESS_PREFIXES.join(", ")} (a directory that is called so is dir:${shown})`,
    );
  }
  return { scheme, rest };
}

/**
 * A text in which no address says who wants to come in there, so that it can be shown.
 *
 * @param text an address, or what may hold one
 */
export function withoutLogin(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/)\S*@/gi, "$1");
}
