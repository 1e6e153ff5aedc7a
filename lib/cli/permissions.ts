/**
 * What a subcommand may do: no more than it needs, whatever it was started with.
 *
 * @module
 */

/** Every kind that there is. The types of Deno have yet to list the last. */
const KINDS = ["read", "write", "net", "env", "run", "sys", "ffi", "import"] as Deno.PermissionName[];

/**
 * Gives up, for good, every kind of permission but those named. A subcommand calls it before it reads any input.
 *
 * @param kept the kinds that the subcommand needs
 */
export function keepPermissions(...kept: Deno.PermissionName[]): void {
  for (const name of KINDS) {
    if (!kept.includes(name)) Deno.permissions.revokeSync({ name });
  }
}
