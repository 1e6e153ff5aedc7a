/**
 * `ollie hub`: a bus for browsers and services, over WebSocket and HTTP.
 *
 * @module
 */
import { startRetention } from "../bus/directory/retention.ts";
import { openBus, parseAddress } from "../open.ts";
import { Hub } from "../hub/hub.ts";
import { Page } from "../hub/page.ts";
import { HubServer } from "../hub/server.ts";
import { Tokens, TokensError } from "../hub/tokens.ts";
import { Visitors } from "../hub/visitors.ts";
import { isLoopback } from "../loopback.ts";
import { reasonOf } from "../os_error.ts";
import { stackOf } from "../thrown.ts";
import { waitAtMost } from "../waiting.ts";
import {
  checkOperands,
  type Command,
  CommandError,
  HELP_OPTION,
  parseArgs,
  parseBytes,
  parseCount,
  printHelp,
  UsageError,
} from "./args.ts";
import { complain } from "./failure.ts";
import { parseRetain, RETAIN_OPTION } from "./limits.ts";
import { keepPermissions, permissionsOf } from "./permissions.ts";
import { firstSignal, INTERRUPTED } from "./signals.ts";

const options = {
  listen: { short: "l", value: "[HOST:]PORT", help: "listen there (default: 127.0.0.1:8080)" },
  cert: { value: "FILE", help: "speak TLS, with this certificate chain (PEM)..." },
  key: { value: "FILE", help: "...and its private key" },
  tokens: {
    value: "FILE",
    help:
      "let in only those who show a token of this file; a line\nis TOKEN NAME [pub=FILTER] [sub=FILTER]..., and\nTOKEN NAME alone allows everything; # begins a comment",
  },
  anonymous: { help: "let in those who show no token, too" },
  "allow-origin": {
    value: "ORIGIN",
    many: true,
    help: "let pages from there talk to this hub, such as\nhttps://example.com; give it again for several",
  },
  "max-buffer": {
    value: "BYTES",
    help: "end a connection for which more than that waits\n(default: 1M)",
  },
  "max-connections": { value: "N", help: "how many connections there may be (default: 10000)" },
  "max-message": { value: "BYTES", help: "how long an event that is published may be\n(default: 1M)" },
  "max-subscriptions": { value: "N", help: "how many filters a connection may subscribe to\n(default: 10000)" },
  ...RETAIN_OPTION,
  verbose: { short: "v", help: "print who comes and goes on standard error" },
  ...HELP_OPTION,
} as const;

const command: Command = {
  name: "hub",
  operands: "[BUS]",
  description: `Serve a bus over WebSocket and HTTP, until SIGINT or SIGTERM. BUS is a directory,
which is made when it is first used, another server's address, or mem:, which
ends with the hub (the default).

A client sends {"type":"__subscribe","payload":{"topic":FILTER}} and receives the
events that match; it publishes by sending {"type":TOPIC,"payload":...}. There are
POST /pub/TOPIC, GET /sub/FILTER (Server-Sent Events), /healthz and /metrics, too,
and at / a page that shows what is going on.
`,
  options,
  examples: [
    ["ollie hub /tmp/a", "serve the directory /tmp/a to this machine"],
    ["curl -d red http://127.0.0.1:8080/pub/color", "publish an event"],
    ["curl -N http://127.0.0.1:8080/sub/color", "print what is published under color"],
    ["ollie hub -l 0.0.0.0:443 --cert c.pem --key k.pem --tokens t /tmp/a", "serve others, who show a token"],
  ],
};

/** How long connections may take to end, in milliseconds, when the hub does. */
const DRAIN_MS = 4000;

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
  const { hostname, port } = parseListen(values.listen ?? "127.0.0.1:8080");
  const { scheme } = parseAddress(bus);
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
  const visitors = new Visitors({ loopback, allowed: values["allow-origin"].map(parseOrigin) });
  keepPermissions("read", "write", "net");
  const tokens = values.tokens === undefined ? undefined : await readTokens(values.tokens);
  const tls = values.cert === undefined || values.key === undefined
    ? {}
    : { cert: await readText(values.cert, "--cert"), key: await readText(values.key, "--key") };
  const page = await Page.load();

  await using carrier = await openBus(bus);
  const say = (message: string) => complain("ollie hub", message);
  using _retention = retained && startRetention(retained.path, retained.limits, say);
  const hub = new Hub(carrier, {
    maxBuffer,
    maxMessage,
    maxSubscriptions,
    log: say,
    onBackpressure: ({ id, name }, queuedBytes) =>
      say(`connection ${id}${named(name)} reads too slowly and was ended: ${queuedBytes} bytes waited for it`),
    ...values.verbose
      ? {
        onConnect: ({ id, name }) => say(`connection ${id}${named(name)} has come`),
        onDisconnect: ({ id, name }) => say(`connection ${id}${named(name)} has gone`),
      }
      : {},
  });
  await using closing = new AsyncDisposableStack();
  closing.defer(() => hub.close());
  const server = new HubServer({
    bus: carrier,
    hub,
    visitors,
    tokens,
    anonymous: values.anonymous,
    maxConnections,
    maxMessage,
    page,
  });
  const signal = firstSignal();
  // Who comes before the hub has subscribed would be told that it has.
  const first = await Promise.race([hub.ready, signal]);
  if (first !== undefined) return statusOf(first);
  const listening = listen(server, { hostname, port, ...tls });
  const { addr } = listening;
  const host = addr.hostname.includes(":") ? `[${addr.hostname}]` : addr.hostname;
  if (values.verbose) say(`serving ${scheme === "mem" ? "mem:, which keeps nothing" : bus}`);
  say(`listening on http${"cert" in tls ? "s" : ""}://${host}:${addr.port}`);
  // The network is needed no more, unless the bus is there.
  keepPermissions(...permissionsOf(scheme));

  const received = await signal;
  await waitAtMost(DRAIN_MS, Promise.all([listening.shutdown(), server.close()]));
  return statusOf(received);
}

function statusOf(signal: Deno.Signal): number {
  return signal === "SIGINT" ? INTERRUPTED : 0;
}

function listen(
  server: HubServer,
  options: Deno.ServeTcpOptions | (Deno.ServeTcpOptions & Deno.TlsCertifiedKeyPem),
): Deno.HttpServer<Deno.NetAddr> {
  try {
    return Deno.serve({
      ...options,
      onListen: () => {},
      onError: (error) => {
        complain("ollie hub", `internal error: ${stackOf(error)}`);
        return new Response("internal error\n", { status: 500 });
      },
    }, (request) => server.handle(request));
  } catch (error) {
    throw new CommandError(`cannot listen on ${options.hostname}:${options.port}: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

function named(name: string | undefined): string {
  return name === undefined ? "" : ` (${JSON.stringify(name)})`;
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

async function readTokens(path: string): Promise<Tokens> {
  try {
    return await Tokens.parse(await readText(path, "--tokens"));
  } catch (error) {
    if (!(error instanceof TokensError)) throw error;
    throw new CommandError(`--tokens ${path}: ${error.message}`);
  }
}

async function readText(path: string, option: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    throw new CommandError(`cannot read ${option} ${path}: ${reasonOf(error)}`, { cause: error });
  }
}
