/**
 * Where a 9P server is: `unix:PATH` or `tcp:HOST:PORT`.
 *
 * @module
 */
import { BusError } from "../bus.ts";
import { hostAndPort } from "../host_and_port.ts";
import { reasonOf } from "../os_error.ts";

/** An address, taken apart. */
export type NinepAddress =
  | { readonly transport: "unix"; readonly path: string }
  | { readonly transport: "tcp"; readonly hostname: string; readonly port: number };

/** Where a server is that says no more than a port. */
const LOOPBACK = "127.0.0.1";

/**
 * Reads an address.
 *
 * @param address `unix:PATH`, `tcp:HOST:PORT` or `tcp:PORT`; with `!` in place of each `:`, as Plan 9 writes it, too
 * @throws {BusError} if it is none
 *
 * @example
 * ```ts
 * import { parseNinepAddress } from "./address.ts";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(parseNinepAddress("unix:/run/ollie"), { transport: "unix", path: "/run/ollie" });
 * assert.deepEqual(parseNinepAddress("tcp:[::1]:5640"), { transport: "tcp", hostname: "::1", port: 5640 });
 * ```
 */
export function parseNinepAddress(address: string): NinepAddress {
  const [, path] = /^unix[:!](.+)$/s.exec(address) ?? [];
  if (path !== undefined) return { transport: "unix", path };
  const [, named, digits] = /^tcp[:!](?:(\[[^\]]+\]|[^:!]*)[:!])?(\d+)$/.exec(address) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) {
    throw new BusError(`${JSON.stringify(address)} is no 9P address: such an address is unix:PATH or tcp:HOST:PORT`);
  }
  const hostname = named?.replace(/^\[(.*)\]$/, "$1");
  return { transport: "tcp", hostname: hostname === undefined || hostname === "" ? LOOPBACK : hostname, port };
}

/**
 * Writes an address as it is read.
 *
 * @param address taken apart
 */
export function formatNinepAddress(address: NinepAddress): string {
  if (address.transport === "unix") return `unix:${address.path}`;
  return `tcp:${hostAndPort(address.hostname, address.port)}`;
}

/**
 * Connects to a server.
 *
 * @param address where it is
 * @throws {BusError} if nobody answers there
 */
export async function connectTo(address: NinepAddress): Promise<Deno.Conn> {
  try {
    if (address.transport === "unix") return await Deno.connect(address);
    const connection = await Deno.connect(address);
    // A request should not wait for another to go with it.
    connection.setNoDelay();
    return connection;
  } catch (error) {
    throw new BusError(`cannot connect to ${formatNinepAddress(address)}: ${reasonOf(error)}`, { cause: error });
  }
}
