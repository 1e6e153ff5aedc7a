/**
 * Putting byte strings together.
 *
 * @module
 */

/**
 * Joins byte strings.
 *
 * @param parts in order
 * @returns their bytes in one array; where there is only one part, that part itself
 */
export function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0];
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
