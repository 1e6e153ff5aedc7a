/**
 * What a server that is confined may reach: its bus, and where it listens.
 *
 * @module
 */
import { parseAddress } from "../address.ts";
import { parseNatsAddress } from "../bus/nats/address.ts";
import { hostAndPort } from "../host_and_port.ts";
import { parseHubAddress } from "../hub/client/address.ts";
import { parseNinepAddress } from "../ninep/address.ts";
import { withoutPermission } from "../os_error.ts";
import { CommandError } from "./args.ts";

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
    case "nats":
      return { ...nothing, hosts: parseNatsAddress(address).servers };
    case "ws":
      return { ...nothing, hosts: [hostOf(new URL(parseHubAddress(address).url))] };
  }
}

/**
 * Starts a worker that may reach that and nothing else.
 *
 * @param module its module
 * @param reach what it may reach
 * @throws {CommandError} if this program may not reach all of that itself, or if there can be no such host
 */
export function workerFor(module: URL, reach: Reach): Worker {
  try {
    return startWorker(module, reach);
  } catch (error) {
    const why = error instanceof Deno.errors.NotCapable
      ? lackOf(reach)
      : error instanceof URIError
      ? error.message
      : undefined;
    if (why === undefined) throw error;
    throw new CommandError(`cannot start the server: ${why}`, { cause: error });
  }
}

/** Which permission is missing to reach all of that: Deno says only that one is. */
function lackOf({ directories, sockets, hosts }: Reach): string {
  const wanted: readonly (readonly ["read" | "write" | "net", string])[] = [
    ...[...directories, ...sockets].flatMap((path) => [["read", path], ["write", path]] as const),
    ...hosts.map((host) => ["net", host] as const),
  ];
  const missing = wanted.find(([name, what]) => {
    const { state, partial } = Deno.permissions.querySync(
      name === "net" ? { name, host: what } : { name, path: what },
    );
    // Something within a directory may be denied.
    return state !== "granted" || partial;
  });
  // If it is none of these, it is the part of the network that a socket is, which not every Deno can be asked about.
  const [name, what] = missing ?? ["net", sockets.map(unixScope).at(0)];
  return withoutPermission(name, what);
}

function startWorker(module: URL, { directories, sockets, hosts }: Reach): Worker {
  const paths = [...directories, ...sockets];
  const rest = { import: originOf(module), env: false, ffi: false, run: false, sys: false };
  const start = (net: string[]) =>
    new Worker(module, { type: "module", deno: { permissions: { read: paths, write: paths, net, ...rest } } });
  try {
    return start([...hosts, ...sockets.map(unixScope)]);
  } catch (error) {
    // For a Deno to which a socket in the file system is no part of the network, that is no address.
    if (!(error instanceof URIError)) throw error;
    return start([...hosts]);
  }
}

/** A socket as the part of the network that it is. Relative paths are none there. */
function unixScope(path: string): string {
  return `unix:${path.startsWith("/") ? path : `${Deno.cwd()}/${path}`}`;
}

/** Where a program's modules come from, if that is over the network: it may load them, and nothing else. */
function originOf(module: URL): string[] {
  return module.protocol === "file:" ? [] : [hostOf(module)];
}

/** A URL's host and port, also where the port is the usual one, which a URL leaves out. */
function hostOf({ protocol, hostname, port }: URL): string {
  return `${hostname}:${port || (protocol === "ws:" || protocol === "http:" ? 80 : 443)}`;
}
