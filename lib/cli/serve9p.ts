/**
 * `ollie serve9p`: a bus as files, for whoever can mount them or speaks 9P.
 *
 * @module
 */
import { parseAddress } from "../address.ts";
import { hostAndPort } from "../host_and_port.ts";
import { isLoopback } from "../loopback.ts";
import { formatNinepAddress, type NinepAddress, parseNinepAddress } from "../ninep/address.ts";
import { SocketPlace } from "../ninep/socket_place.ts";
import { checkOperands, HELP_OPTION, parseArgs, printHelp, UsageError } from "./args.ts";
import type { Command } from "./command.ts";
import { runConfined } from "./confinement.ts";
import { complain } from "./failure.ts";
import { parseRetain, RETAIN_OPTION } from "./limits.ts";
import { BUS_OPTIONS, busOptions } from "./open.ts";
import { keepPermissions } from "./permissions.ts";
import { parseCount } from "./quantity.ts";
import { notifyReady, notifySocket } from "./readiness.ts";
import { type Reach, reachOfBus } from "./reach.ts";
import type { NinepSettings } from "./serve9p_worker.ts";
import { parseServerAddress } from "./server_address.ts";
import { firstSignal } from "./signals.ts";

const options = {
  listen: {
    short: "l",
    value: "ADDRESS",
    many: true,
    help: "listen there: unix:PATH or tcp:[HOST:]PORT, on this machine alone unless HOST says more; give it again to " +
      "listen at several",
  },
  mode: {
    value: "MODE",
    suggestions: ["600", "660", "666"],
    help: "who may use the socket of a unix:PATH, as chmod has it (default: 600)",
  },
  "max-connections": { value: "N", help: "how many connections there may be (default: 1000)" },
  "max-fids": { value: "N", help: "how many fids a connection may have (default: 16384)" },
  ...RETAIN_OPTION,
  debug: { help: "print each message on standard error" },
  ...BUS_OPTIONS,
  ...HELP_OPTION,
} as const;

/** What its help and its completions tell. */
export const command: Command = {
  name: "serve9p",
  operands: [{ value: "BUS", optional: true, suggestions: ["mem:"] }],
  description:
    `Serve a bus over 9P2000 and 9P2000.u, until SIGINT or SIGTERM. BUS is a directory, which is made when it is
first used, another server's address, or mem:, which ends with the server (the default).

The files are event and event.json (read them for events, write a filter into them first to read only what matches), pub
(write lines: TOPIC PAYLOAD), pub.json (lines of JSON: {"topic": TOPIC, "payload": PAYLOAD}) and stats. 9P has no
authentication here: whoever can connect can read and publish.`,
  options,
  examples: [
    ["ollie serve9p --listen unix:/run/ollie /tmp/a", "serve the directory /tmp/a"],
    ["mount -t 9p -o trans=unix,version=9p2000.u /run/ollie /mnt/ollie", "mount that on Linux, as root"],
    ["ollie serve9p --listen tcp:5640", "serve a bus of its own, to this machine"],
    ["mount -t 9p -o trans=tcp,port=5640,version=9p2000.u 127.0.0.1 /mnt/ollie", "mount that"],
  ],
};

/**
 * Runs `ollie serve9p`.
 *
 * @param args what was typed after it
 * @returns the exit status
 */
export async function run(args: readonly string[]): Promise<number> {
  const { values, operands } = parseArgs(options, args);
  if (values.help) return await printHelp(command);
  checkOperands(operands, 1);
  const [bus = "mem:"] = operands;
  if (values.listen.length === 0) throw new UsageError("say where to listen: --listen unix:PATH or tcp:HOST:PORT");
  const addresses = values.listen.map((address) => parseServerAddress(address, "--listen: "));
  const { scheme } = parseAddress(bus);
  if (scheme === "9p" && addresses.map(formatNinepAddress).includes(formatNinepAddress(parseNinepAddress(bus)))) {
    throw new UsageError(`${bus} cannot be both what is served and where to listen`);
  }
  const mode = parseMode(values.mode ?? "600");
  const maxConnections = parseCount(values["max-connections"] ?? "1000", "--max-connections");
  const maxFids = parseCount(values["max-fids"] ?? "16384", "--max-fids");
  const said = await busOptions(values, bus);
  const retained = parseRetain(values.retain, bus);
  const manager = notifySocket();
  // Where this program has come over the network, so does the worker.
  keepPermissions("read", "write", "net", "import");

  const signal = firstSignal();
  using sockets = new DisposableStack();
  const places: SocketPlace[] = [];
  const listen: NinepAddress[] = [];
  for (const address of addresses) {
    if (address.transport === "tcp") {
      listen.push(address);
    } else {
      const place = sockets.use(await SocketPlace.prepare(address.path, mode));
      places.push(place);
      listen.push({ transport: "unix", path: place.path });
    }
  }
  return await runConfined<NinepSettings>({
    who: "ollie serve9p",
    module: new URL("./serve9p_worker.ts", import.meta.url),
    reach: reachOf(bus, listen, places),
    settings: { bus, busOptions: said, listen, maxConnections, maxFids, retained, debug: values.debug },
    signal,
    listening: async (listened) => {
      for (const place of places) place.put();
      const reached = addresses.map((address, i) =>
        address.transport === "unix" ? formatNinepAddress(address) : listened[i]
      );
      await notifyReady("ollie serve9p", reached, manager);
      // The socket in the file system is to be removed at the end; all else is the worker's.
      keepPermissions(...places.length > 0 ? ["read", "write"] as const : []);
      for (const address of reached) announce(address);
    },
  });
}

/** What the server may reach: its bus, and where it listens. */
function reachOf(bus: string, listen: readonly NinepAddress[], places: readonly SocketPlace[]): Reach {
  const reach = reachOfBus(bus);
  return {
    directories: [...reach.directories, ...places.map(({ directory }) => directory)],
    sockets: [...reach.sockets, ...places.map(({ path }) => path)],
    hosts: [
      ...reach.hosts,
      ...listen.flatMap((address) => address.transport === "tcp" ? [hostAndPort(address.hostname, address.port)] : []),
    ],
  };
}

function announce(address: string): void {
  const parsed = parseNinepAddress(address);
  if (parsed.transport === "tcp" && !isLoopback(parsed.hostname)) {
    complain(
      "ollie serve9p",
      `warning: ${address} can be reached from other machines, and 9P has no authentication here`,
    );
  }
  complain("ollie serve9p", `listening on ${address}`);
}

function parseMode(text: string): number {
  if (!/^0?[0-7]{3}$/.test(text)) {
    throw new UsageError(`--mode takes three octal digits such as 600 or 660, not ${JSON.stringify(text)}`);
  }
  return parseInt(text, 8);
}
