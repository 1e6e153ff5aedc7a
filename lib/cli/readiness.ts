/**
 * Telling the service manager that has started a server, if one has, that the server can be used, as `sd_notify(3)` describes it.
 * A manager names a socket in `$NOTIFY_SOCKET`, and takes the service for started once `READY=1` has come there; what depends on
 * it waits until then.
 *
 * @module
 */
import { reasonOf } from "../os_error.ts";
import { waitAtMost } from "../waiting.ts";
import { optionalVariable } from "./environment.ts";
import { complain } from "./failure.ts";

/** How long the manager may take to take the message, in milliseconds. */
const WAIT_MS = 5000;

/**
 * Where the service manager listens. To be asked before the permission to read the environment is given up.
 *
 * @returns a path, or `@` and an abstract name; `undefined` if no manager waits, or if the environment may not be read
 */
export function notifySocket(): string | undefined {
  return optionalVariable("NOTIFY_SOCKET");
}

/**
 * Tells the manager, if there is one, that a server listens. That the manager cannot be told is said, and does not end what works.
 *
 * @param who the program and subcommand, such as `ollie hub`
 * @param addresses where it listens
 * @param manager where the service manager listens, as {@linkcode notifySocket} has it
 */
export async function notifyReady(
  who: string,
  addresses: readonly string[],
  manager: string | undefined,
): Promise<void> {
  if (manager === undefined) return;
  try {
    await notify(manager, `READY=1\nSTATUS=Listening on ${addresses.join(" and ")}\n`);
  } catch (error) {
    complain(who, `cannot tell the service manager at ${manager} that this is ready: ${reasonOf(error)}`);
  }
}

async function notify(manager: string, message: string): Promise<void> {
  const socket = temporarySocket();
  try {
    const path = manager.replace(/^@/, "\0");
    let sent = false;
    const sending = socket.send(new TextEncoder().encode(message), { transport: "unixpacket", path });
    // Where as much waits there as may, it waits, too.
    await waitAtMost(WAIT_MS, sending.then(() => sent = true));
    if (!sent) throw new Error(`it has taken no message for ${WAIT_MS / 1000} seconds`);
  } finally {
    socket.close();
  }
}

/** A socket to send from. The platform sends from those that have a path only; nobody will answer there, so it goes at once. */
function temporarySocket(): Deno.DatagramConn {
  let directory;
  try {
    directory = Deno.makeTempDirSync({ prefix: "ollie-" });
    return Deno.listenDatagram({ transport: "unixpacket", path: `${directory}/s` });
  } catch (error) {
    throw new Error(`no socket can be made in a temporary directory: ${reasonOf(error)}`, { cause: error });
  } finally {
    if (directory !== undefined) Deno.removeSync(directory, { recursive: true });
  }
}
