/**
 * What the operating system said: as the end of a sentence for a person, and as an answer where it said that there is no such
 * file.
 *
 * @module
 */

/**
 * Says why something failed.
 *
 * @param error what was thrown
 * @returns such as `permission denied` or `no space left on device`, without the error's number and call
 */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof Deno.errors.NotCapable && error.message.startsWith("Requires all access")) {
    return "Deno lets no program into /dev, /proc and /sys that does not hold every permission: use another directory";
  }
  const said = /^(.+?) \(os error \d+\)/.exec(error.message)?.[1];
  if (said === undefined) return error.message;
  if (error instanceof Deno.errors.NotADirectory) return "it is not a directory";
  return said[0].toLowerCase() + said.slice(1);
}

/**
 * Looks at a file that need not be there.
 *
 * @param look what throws `NotFound` where there is none
 * @returns what it returns; `undefined` where there is none
 */
export function unlessMissing<Found>(look: () => Found): Found | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
