/**
 * The part of `ollie hub` that reads what clients send: the worker that it runs in may reach the bus and nothing else.
 *
 * @module
 */
import { startRetention } from "../bus/directory/retention.ts";
import type { NatsOptions } from "../bus/nats/options.ts";
import { hostAndPort } from "../host_and_port.ts";
import { Hub } from "../hub/hub.ts";
import { Page, type PageFiles } from "../hub/page.ts";
import { HubServer } from "../hub/server.ts";
import { Tokens, TokensError } from "../hub/tokens.ts";
import { Visitors } from "../hub/visitors.ts";
import { isLoopback } from "../loopback.ts";
import { reasonOf } from "../os_error.ts";
import { stackOf } from "../thrown.ts";
import { waitAtMost } from "../waiting.ts";
import { CommandError } from "./args.ts";
import { serveConfined } from "./confinement.ts";
import { complain } from "./failure.ts";
import { holderOf } from "./holder.ts";
import type { Retained } from "./limits.ts";
import { openServedBus } from "./served_bus.ts";

/** What is to be served, and how. */
export interface HubSettings {
  /** The bus's address. */
  readonly bus: string;
  /** What that does not say. */
  readonly busOptions: NatsOptions;
  /** Where to listen: a name or an address, an IPv6 one without brackets. */
  readonly hostname: string;
  /** The port there. */
  readonly port: number;
  /** A certificate chain and its private key, PEM, to speak TLS. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Who may do what: a file's name, and what it holds. */
  readonly tokens: { readonly file: string; readonly text: string } | undefined;
  /** Whether those who show no token are let in, too. */
  readonly anonymous: boolean;
  /** The origins of pages that may talk to the hub. */
  readonly allowedOrigins: readonly string[];
  /** How much may wait for a connection, in bytes. */
  readonly maxBuffer: number;
  /** How many connections there may be. */
  readonly maxConnections: number;
  /** How long an event that is published may be, in bytes. */
  readonly maxMessage: number;
  /** How many filters a connection may subscribe to. */
  readonly maxSubscriptions: number;
  /** What is to stay in the bus, if that is a directory from which old events are removed. */
  readonly retained: Retained | undefined;
  /** Whether to say who comes and goes. */
  readonly verbose: boolean;
  /** The dashboard's files. */
  readonly page: PageFiles;
}

/** How long connections may take to end, in milliseconds, when the hub does. */
const DRAIN_MS = 4000;

const say = (message: string) => complain("ollie hub", message);

serveConfined<HubSettings>("ollie hub", async (settings, supervisor) => {
  const { hostname, maxBuffer, maxConnections, maxMessage, maxSubscriptions, anonymous } = settings;
  const visitors = new Visitors({ loopback: isLoopback(hostname), allowed: settings.allowedOrigins });
  const tokens = settings.tokens === undefined ? undefined : await readTokens(settings.tokens);
  await using bus = await openServedBus(settings.bus, settings.busOptions);
  using _retention = settings.retained && startRetention(settings.retained.path, settings.retained.limits, say);
  const hub = new Hub(bus, {
    maxBuffer,
    maxMessage,
    maxSubscriptions,
    log: say,
    onBackpressure: ({ id, name }, queuedBytes) =>
      say(`connection ${id}${named(name)} reads too slowly and was ended: ${queuedBytes} bytes waited for it`),
    ...settings.verbose
      ? {
        onConnect: ({ id, name }) => say(`connection ${id}${named(name)} has come`),
        onDisconnect: ({ id, name }) => say(`connection ${id}${named(name)} has gone`),
      }
      : {},
  });
  await using closing = new AsyncDisposableStack();
  closing.defer(() => hub.close());
  const page = new Page(settings.page);
  const onRefused = settings.verbose ? (reason: string) => say(`refused a request: ${reason}`) : undefined;
  const server = new HubServer({ bus, hub, visitors, tokens, anonymous, maxConnections, maxMessage, page, onRefused });
  // Who comes before the hub has subscribed would be told that it has.
  const first = await Promise.race([hub.ready, supervisor.stopped.then(() => "stopped" as const)]);
  if (first === "stopped") return;
  const listening = await listen(server, settings);
  const { addr } = listening;
  const scheme = settings.tls === undefined ? "http" : "https";
  supervisor.listening([`${scheme}://${hostAndPort(addr.hostname, addr.port)}`]);

  await supervisor.stopped;
  await waitAtMost(DRAIN_MS, Promise.all([listening.shutdown(), server.close()]));
});

async function listen(server: HubServer, settings: HubSettings): Promise<Deno.HttpServer<Deno.NetAddr>> {
  const { hostname, port, tls } = settings;
  try {
    return Deno.serve({
      hostname,
      port,
      ...tls,
      onListen: () => {},
      onError: (error) => {
        say(`internal error: ${stackOf(error)}`);
        return new Response("internal error\n", { status: 500 });
      },
    }, (request) => server.handle(request));
  } catch (error) {
    const why = error instanceof Deno.errors.AddrInUse
      ? `the address is in use, ${await holderOf(hostname, port)}`
      : reasonOf(error);
    throw new CommandError(`cannot listen on ${hostAndPort(hostname, port)}: ${why}`, { cause: error });
  }
}

function named(name: string | undefined): string {
  return name === undefined ? "" : ` (${JSON.stringify(name)})`;
}

async function readTokens({ file, text }: { file: string; text: string }): Promise<Tokens> {
  try {
    return await Tokens.parse(text);
  } catch (error) {
    if (!(error instanceof TokensError)) throw error;
    throw new CommandError(`--tokens ${file}: ${error.message}`);
  }
}
