/**
 * Who might hold an address at which one cannot listen because it is in use: what answers there, and how to find out more.
 *
 * @module
 */
import { hostAndPort } from "../host_and_port.ts";
import { NinepClient } from "../ninep/client.ts";
import { waitAtMost } from "../waiting.ts";

/** How long an answer is waited for, in milliseconds. Only where nobody gives one does it take as long. */
const WAIT_MS = 2000;

/** What names the program that listens at a port, on each system. */
const COMMANDS: Readonly<Record<string, (port: number) => string>> = {
  linux: (port) => `ss -ltnp 'sport = :${port}'`,
  darwin: (port) => `lsof -nP -iTCP:${port} -sTCP:LISTEN`,
  windows: (port) => `netstat -ano | findstr :${port}`,
};

/**
 * Says who might hold an address, having asked whoever answers there.
 *
 * @param hostname a name or an address, an IPv6 one without brackets
 * @param port the port that is in use
 * @returns the end of a sentence, such as `perhaps by another ollie hub (ss -ltnp 'sport = :8080' names the program)`
 */
export async function holderOf(hostname: string, port: number): Promise<string> {
  let holder = "by another program";
  const asked = Promise.all([
    isHub(hostname, port).then((is) => is && (holder = "perhaps by another ollie hub")),
    isNinep(hostname, port).then((is) => is && (holder = "by a 9P server, perhaps another ollie serve9p")),
  ]);
  await waitAtMost(WAIT_MS, asked);
  const command = COMMANDS[Deno.build.os]?.(port);
  return command === undefined ? holder : `${holder} (${command} names the program)`;
}

async function isHub(hostname: string, port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://${hostAndPort(hostname, port)}/healthz`, {
      signal: AbortSignal.timeout(WAIT_MS),
    });
    return (await response.text()).trim() === "ok";
  } catch {
    return false;
  }
}

async function isNinep(hostname: string, port: number): Promise<boolean> {
  try {
    const client = await NinepClient.connect({ transport: "tcp", hostname, port }, AbortSignal.timeout(WAIT_MS));
    await client[Symbol.asyncDispose]();
    return true;
  } catch {
    return false;
  }
}
