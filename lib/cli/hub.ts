/**
 * `ollie hub`: a bus for browsers and services, over WebSocket and HTTP.
 *
 * @module
 */
import { hostAndPort } from "../host_and_port.ts";
import { readPage } from "../hub/page.ts";
import { isLoopback } from "../loopback.ts";
import { reasonOf } from "../os_error.ts";
import { checkOperands, CommandError, HELP_OPTION, parseArgs, printHelp, UsageError } from "./args.ts";
import type { Command } from "./command.ts";
import { runConfined } from "./confinement.ts";
import { complain } from "./failure.ts";
import type { HubSettings } from "./hub_worker.ts";
import { parseRetain, RETAIN_OPTION } from "./limits.ts";
import { BUS_OPTIONS, busOptions } from "./open.ts";
import { keepPermissions } from "./permissions.ts";
import { parseBytes, parseCount } from "./quantity.ts";
import { notifyReady, notifySocket } from "./readiness.ts";
import { reachOfBus } from "./reach.ts";
import { firstSignal } from "./signals.ts";

const options = {
  listen: { short: "l", value: "[HOST:]PORT", help: "listen there (default: 127.0.0.1:8080)" },
  cert: { value: "FILE", help: "speak TLS, with this certificate chain (PEM); goes with --key" },
  key: { value: "FILE", help: "the private key of the certificate (PEM)" },
  tokens: {
    value: "FILE",
    help: "let in only those who show a token of this file; a line is TOKEN NAME [pub=FILTER] [sub=FILTER]..., and " +
      "TOKEN NAME alone allows everything; # begins a comment",
  },
  anonymous: { help: "let in those who show no token, too" },
  "allow-origin": {
    value: "ORIGIN",
    many: true,
    help: "let pages from there talk to this hub, such as https://example.com; give it again for several",
  },
  "max-buffer": {
    value: "BYTES",
    help: "end a connection for which more than that waits (default: 1M)",
  },
  "max-connections": { value: "N", help: "how many connections there may be (default: 10000)" },
  "max-message": { value: "BYTES", help: "how long an event that is published may be (default: 1M)" },
  "max-subscriptions": { value: "N", help: "how many filters a connection may subscribe to (default: 10000)" },
  ...RETAIN_OPTION,
  verbose: { short: "v", help: "print who comes, goes and is refused on standard error" },
  ...BUS_OPTIONS,
  ...HELP_OPTION,
} as const;

/** What its help and its completions tell. */
export const command: Command = {
  name: "hub",
  operands: [{ value: "BUS", optional: true, suggestions: ["mem:"] }],
  description:
    `Serve a bus over WebSocket and HTTP, until SIGINT or SIGTERM. BUS is a directory, which is made when it is
first used, another server's address, or mem:, which ends with the hub (the default).

A client sends {"type":"__subscribe","payload":{"topic":FILTER}} and receives the events that match; it publishes by
sending {"type":TOPIC,"payload":...}. There are POST /pub/TOPIC, GET /sub/FILTER (Server-Sent Events), /healthz and
/metrics, too, and at / a page that shows what is going on.`,
  options,
  examples: [
    ["ollie hub /tmp/a", "serve the directory /tmp/a to this machine"],
    ["curl -d red http://127.0.0.1:8080/pub/color", "publish an event"],
    ["curl -N http://127.0.0.1:8080/sub/color", "print what is published under color"],
    ["ollie hub -l 0.0.0.0:443 --cert c.pem --key k.pem --tokens t /tmp/a", "serve others, who show a token"],
  ],
};

/**
 * Runs `ollie hub`.
 *
 * @param args what was typed after it
 * @returns the exit status
 */
export async function run(args: readonly string[]): Promise<number> {
  const { values, operands } = parseArgs(options, args);
  if (values.help) return await printHelp(command);
  checkOperands(operands, 1);
  const [bus = "mem:"] = operands;
  if (/^\d+$/.test(bus)) {
    throw new UsageError(`to listen on port ${bus}, say --listen ${bus} (a directory that is called so is ./${bus})`);
  }
  const { hostname, port } = parseListen(values.listen ?? "127.0.0.1:8080");
  if ((values.cert === undefined) !== (values.key === undefined)) {
    throw new UsageError("--cert and --key go together: TLS takes a certificate and its private key");
  }
  const loopback = isLoopback(hostname);
  if (!loopback && values.tokens === undefined && !values.anonymous) {
    throw new UsageError(
      `other machines can reach ${hostname}: say who may with --tokens FILE, or let everybody in with --anonymous`,
    );
  }
  const maxMessage = parseBytes(values["max-message"] ?? "1M", "--max-message");
  const maxBuffer = parseBytes(values["max-buffer"] ?? "1M", "--max-buffer");
  const maxConnections = parseCount(values["max-connections"] ?? "10000", "--max-connections");
  const maxSubscriptions = parseCount(values["max-subscriptions"] ?? "10000", "--max-subscriptions");
  const retained = parseRetain(values.retain, bus);
  const allowedOrigins = values["allow-origin"].map(parseOrigin);
  const said = await busOptions(values, bus);
  const manager = notifySocket();
  // Where this program has come over the network, so does the worker.
  keepPermissions("read", "write", "net", "import");

  const reach = reachOfBus(bus);
  return await runConfined<HubSettings>({
    who: "ollie hub",
    module: new URL("./hub_worker.ts", import.meta.url),
    reach: { ...reach, hosts: [...reach.hosts, hostAndPort(hostname, port)] },
    settings: {
      bus,
      busOptions: said,
      hostname,
      port,
      tls: values.cert === undefined || values.key === undefined
        ? undefined
        : { cert: await readText(values.cert, "--cert"), key: await readText(values.key, "--key") },
      tokens: values.tokens === undefined
        ? undefined
        : { file: values.tokens, text: await readText(values.tokens, "--tokens") },
      anonymous: values.anonymous,
      allowedOrigins,
      maxBuffer,
      maxConnections,
      maxMessage,
      maxSubscriptions,
      retained,
      verbose: values.verbose,
      page: await readPage(),
    },
    signal: firstSignal(),
    listening: async ([url]) => {
      await notifyReady("ollie hub", [url], manager);
      keepPermissions();
      if (values.verbose) complain("ollie hub", `serving ${bus === "mem:" ? "mem:, which keeps nothing" : bus}`);
      complain("ollie hub", `listening on ${url}`);
    },
  });
}

function parseListen(text: string): { hostname: string; port: number } {
  const [, hostname = "127.0.0.1", digits] = /^(?:(\[[^\]]+\]|[^:]+):)?(\d+)$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) {
    throw new UsageError(
      `--listen takes HOST:PORT or PORT, such as 8080, 0.0.0.0:8080 (every address) or [::1]:8080, and a port is at most ` +
        `65535; not ${JSON.stringify(text)}`,
    );
  }
  return { hostname: hostname.replace(/^\[(.*)\]$/, "$1"), port };
}

function parseOrigin(text: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : undefined;
  if (origin === undefined || origin === "null" || origin !== text.replace(/\/$/, "")) {
    throw new UsageError(`--allow-origin takes an origin such as https://example.com, not ${JSON.stringify(text)}`);
  }
  return origin;
}

async function readText(path: string, option: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    throw new CommandError(`cannot read ${option} ${path}: ${reasonOf(error)}`, { cause: error });
  }
}
