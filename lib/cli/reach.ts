/**
 * What a server that is confined may reach: its bus, and where it listens.
 *
 * @module
 */
import { parseAddress } from "../address.ts";
import { parseNinepAddress } from "../ninep/address.ts";
import { withoutPermission } from "../os_error.ts";

/** What there is to reach. Nothing else is. */
export interface Reach {
  /** Directories, and all that is in them, to be read and written. */
  readonly directories: readonly string[];
  /** Sockets in the file system, to listen at and to connect to. */
  readonly sockets: readonly string[];
  /** `HOST:PORT`, to listen at and to connect to. */
  readonly hosts: readonly string[];
}

/**
 * What has to be reached to use a bus.
 *
 * @param address as `openBus` takes it
 * @throws {BusError} if it is none
 */
export function reachOfBus(address: string): Reach {
  const { scheme, rest } = parseAddress(address);
  const nothing = { directories: [], sockets: [], hosts: [] };
  switch (scheme) {
    case "mem":
      return nothing;
    case "dir":
      return { ...nothing, directories: [rest] };
    case "9p": {
      const server = parseNinepAddress(address);
      if (server.transport === "unix") return { ...nothing, sockets: [server.path] };
      return { ...nothing, hosts: [hostAndPort(server.hostname, server.port)] };
    }
    case "ws": {
      const { protocol, hostname, port } = new URL(address);
      return { ...nothing, hosts: [`${hostname}:${port || (protocol === "wss:" ? 443 : 80)}`] };
    }
  }
}

/**
 * A host and a port as permissions name them.
 *
 * @param hostname a name or an address, an IPv6 one without brackets
 * @param port its number
 */
export function hostAndPort(hostname: string, port: number): string {
  return `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}

/** The permissions of a worker: no more than these lists have. */
export interface WorkerPermissions extends Deno.PermissionOptionsObject {
  read: string[];
  write: string[];
  net: string[];
}

/**
 * The permissions of a worker that is to reach that and nothing else.
 *
 * @param reach what it may reach
 */
export function permissionsFor({ directories, sockets, hosts }: Reach): WorkerPermissions {
  const paths = [...directories, ...sockets];
  const network = [...hosts, ...socketsAreNetwork() ? sockets.map((path) => `unix:${path}`) : []];
  return { read: paths, write: paths, net: network, env: false, ffi: false, import: false, run: false, sys: false };
}

/**
 * What this program itself may not do of that, so that it cannot let a worker do it.
 *
 * @param permissions those of the worker
 * @returns the end of a sentence; `undefined` if it may do all
 */
export function lackOf({ read, write, net }: WorkerPermissions): string | undefined {
  const wanted = [
    ...read.map((path) => ({ name: "read", path } as const)),
    ...write.map((path) => ({ name: "write", path } as const)),
    ...net.map((host) => ({ name: "net", host } as const)),
  ];
  const missing = wanted.find((permission) => Deno.permissions.querySync(permission).state !== "granted");
  return missing && withoutPermission(missing.name, "path" in missing ? missing.path : missing.host);
}

/** Whether this Deno asks for permission to use the network, too, where a socket in the file system is used. */
function socketsAreNetwork(): boolean {
  try {
    Deno.permissions.querySync({ name: "net", host: "unix:/socket" });
    return true;
  } catch {
    return false;
  }
}
