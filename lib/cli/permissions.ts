/**
 * What a subcommand may do: no more than it needs, whatever it was started with.
 *
 * @module
 */
import type { BusScheme } from "../address.ts";

/** A kind of permission. The types of Deno have yet to list the last. */
export type PermissionKind = Deno.PermissionName | "import";

/** Every kind that there is. */
const KINDS = ["read", "write", "net", "env", "run", "sys", "ffi", "import"] as Deno.PermissionName[];

/**
 * The kinds that a program needs which publishes to a bus or subscribes to it.
 *
 * @param scheme what kind of bus it is, as `parseAddress` has it
 */
export function permissionsOf(scheme: BusScheme): Deno.PermissionName[] {
  if (scheme === "mem") return [];
  if (scheme === "ws" || scheme === "nats") return ["net"];
  // A socket in the file system is a file and a part of the network.
  return scheme === "9p" ? ["read", "write", "net"] : ["read", "write"];
}

/**
 * Gives up, for good, every kind of permission but those named. A subcommand calls it before it reads any input.
 *
 * @param kept the kinds that the subcommand needs
 */
export function keepPermissions(...kept: PermissionKind[]): void {
  for (const name of KINDS) {
    if (!kept.includes(name)) Deno.permissions.revokeSync({ name });
  }
}
