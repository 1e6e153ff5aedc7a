/**
 * Telling the service manager that has started a server, if one has, that the server can be used, as `sd_notify(3)` describes it.
 * A manager names a socket in `$NOTIFY_SOCKET`, and takes the service for started once `READY=1` has come there; what depends on
 * it waits until then.
 *
 * @module
 */
import { reasonOf } from "../os_error.ts";
import { complain } from "./failure.ts";

/**
 * Where the service manager listens. To be asked before the permission to read the environment is given up.
 *
 * @returns a path, or `@` and an abstract name; `undefined` if no manager waits, or if the environment may not be read
 */
export function notifySocket(): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable: "NOTIFY_SOCKET" });
  return state === "granted" ? Deno.env.get("NOTIFY_SOCKET") || undefined : undefined;
}

/**
 * Tells the manager, if there is one, that a server listens. That the manager cannot be told is said, and does not end what works.
 *
 * @param who the program and subcommand, such as `ollie hub`
 * @param addresses where it listens
 * @param manager where the service manager listens, as {@link notifySocket} has it
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
  // The platform sends from sockets that have a path only.
  const directory = Deno.makeTempDirSync({ prefix: "ollie-" });
  try {
    const socket = Deno.listenDatagram({ transport: "unixpacket", path: `${directory}/s` });
    try {
      const path = manager.replace(/^@/, "\0");
      await socket.send(new TextEncoder().encode(message), { transport: "unixpacket", path });
    } finally {
      socket.close();
    }
  } finally {
    Deno.removeSync(directory, { recursive: true });
  }
}
