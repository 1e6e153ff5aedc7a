/**
 * `ollie serve9p`: a bus as files, for whoever can mount them or speaks 9P.
 *
 * @module
 */
import { startRetention } from "../bus/directory/retention.ts";
import { type BusScheme, openBus, parseAddress } from "../open.ts";
import { formatNinepAddress, type NinepAddress, parseNinepAddress } from "../ninep/address.ts";
import { listenAt, type Listening } from "../ninep/listen.ts";
import { NinepServer, type NinepServerOptions } from "../ninep/server.ts";
import { EventTree } from "../ninep/tree.ts";
import { isLoopback } from "../loopback.ts";
import { reasonOf } from "../os_error.ts";
import { checkOperands, type Command, HELP_OPTION, parseArgs, parseCount, printHelp, UsageError } from "./args.ts";
import { complain } from "./failure.ts";
import { parseRetain, RETAIN_OPTION, type Retained } from "./limits.ts";
import { keepPermissions, permissionsOf } from "./permissions.ts";
import { parseServerAddress } from "./server_address.ts";
import { firstSignal, INTERRUPTED } from "./signals.ts";

const options = {
  listen: {
    short: "l",
    value: "ADDRESS",
    many: true,
    help:
      "listen there: unix:PATH or tcp:[HOST:]PORT, on this\nmachine alone unless HOST says more; give it again to\nlisten at several",
  },
  mode: { value: "MODE", help: "who may use the socket of a unix:PATH, as chmod has it\n(default: 600)" },
  "max-connections": { value: "N", help: "how many connections there may be (default: 1000)" },
  "max-fids": { value: "N", help: "how many fids a connection may have (default: 16384)" },
  ...RETAIN_OPTION,
  debug: { help: "print each message on standard error" },
  ...HELP_OPTION,
} as const;

const command: Command = {
  name: "serve9p",
  operands: "[BUS]",
  description: `Serve a bus over 9P2000 and 9P2000.u, until SIGINT or SIGTERM. BUS is a directory,
which is made when it is first used, another server's address, or mem:, which
ends with the server (the default).

The files are event and event.json (read them for events, write a filter into
them first to read only what matches), pub (write lines: TOPIC PAYLOAD),
pub.json (lines of JSON: {"topic": TOPIC, "payload": PAYLOAD}) and stats. 9P has
no authentication here: whoever can connect can read and publish.
`,
  options,
  examples: [
    ["ollie serve9p --listen unix:/run/ollie /tmp/a", "serve the directory /tmp/a"],
    ["mount -t 9p -o trans=unix,version=9p2000.u /run/ollie /mnt/ollie", "mount that on Linux, as root"],
    ["ollie serve9p --listen tcp:5640", "serve a bus of its own, to this machine"],
    ["mount -t 9p -o trans=tcp,port=5640,version=9p2000.u 127.0.0.1 /mnt/ollie", "mount that"],
  ],
};

/** How long to wait before a connection is accepted again after that has failed, in milliseconds. */
const RETRY_MS = 100;

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
  const retained = parseRetain(values.retain, bus);
  const trace = values.debug ? await traceOnStandardError() : undefined;
  keepPermissions("read", "write", "net");
  return await serve({ bus, scheme, addresses, mode, maxConnections, maxFids, trace, retained });
}

/** What was asked for. */
interface Serving {
  readonly bus: string;
  readonly scheme: BusScheme;
  readonly addresses: readonly NinepAddress[];
  readonly mode: number;
  readonly maxConnections: number;
  readonly maxFids: number;
  readonly trace: NinepServerOptions["trace"];
  readonly retained: Retained | undefined;
}

async function serve(serving: Serving): Promise<number> {
  const { scheme, addresses, mode, maxConnections, maxFids, trace, retained } = serving;
  const say = (message: string) => complain("ollie serve9p", message);
  await using bus = await openBus(serving.bus);
  using _retention = retained && startRetention(retained.path, retained.limits, say);
  const tree = new EventTree(bus, {
    stats: () => ({ connections: server.connections, fids: server.fids }),
  });
  const server: NinepServer = new NinepServer(tree.root, {
    maxFids,
    trace,
    log: say,
  });
  using listening = new DisposableStack();
  const accepting: Promise<void>[] = [];
  const signal = firstSignal();
  for (const address of addresses) {
    const place = listening.use(await listenAt(address, mode));
    const { transport } = place.address;
    const where = formatNinepAddress(place.address);
    if (transport === "tcp" && !isLoopback(place.address.hostname)) {
      complain(
        "ollie serve9p",
        `warning: ${where} can be reached from other machines, and 9P has no authentication here`,
      );
    }
    complain("ollie serve9p", `listening on ${where}`);
    accepting.push(acceptAll(place, server, maxConnections));
  }
  // The network is needed no more, unless the bus is there; a socket in the file system is to be removed.
  keepPermissions("read", "write", ...permissionsOf(scheme));

  const received = await signal;
  listening.dispose();
  await Promise.all(accepting);
  await server.close();
  return received === "SIGINT" ? INTERRUPTED : 0;
}

/** Serves all that connect, until there will be no more. */
async function acceptAll(place: Listening, server: NinepServer, maxConnections: number): Promise<void> {
  for (;;) {
    try {
      const connection = await place.accept();
      if (connection === undefined) return;
      if (server.connections < maxConnections) {
        server.serve(connection);
      } else {
        connection.close();
        complain("ollie serve9p", `refused a connection: there are ${maxConnections}, as many as may be`);
      }
    } catch (error) {
      complain("ollie serve9p", `cannot accept a connection: ${reasonOf(error)}`);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

async function traceOnStandardError(): Promise<NinepServerOptions["trace"]> {
  const { formatMessage } = await import("../ninep/text.ts");
  return (connection, direction, message) => {
    const marked = direction === "<-" ? `<-${connection}-` : `-${connection}->`;
    console.error(`${marked} ${formatMessage(message)}`);
  };
}

function parseMode(text: string): number {
  if (!/^0?[0-7]{3}$/.test(text)) {
    throw new UsageError(`--mode takes three octal digits such as 600 or 660, not ${JSON.stringify(text)}`);
  }
  return parseInt(text, 8);
}
