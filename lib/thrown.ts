/**
 * What was thrown, as text: anything can be.
 *
 * @module
 */

/**
 * What it says.
 *
 * @param thrown an error, or anything else
 */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/**
 * What it says, and where it was thrown, for what is a fault of ours.
 *
 * @param thrown an error, or anything else
 */
export function stackOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.stack ?? thrown.message : String(thrown);
}
