/**
 * What the environment says beside the command line.
 *
 * @module
 */

/**
 * A variable that need not be there, asked for before the permission to read it is given up: whoever does not let us look there has
 * nothing there for us.
 *
 * @param name which
 * @returns `undefined` if it is not set, is empty, or may not be read
 */
export function optionalVariable(name: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable: name });
  return state === "granted" ? Deno.env.get(name) || undefined : undefined;
}
