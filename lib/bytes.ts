/**
 * Byte strings: put together, and written whole.
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

/**
 * Writes all, however little of it a call takes.
 *
 * @param writer a file, or standard output
 * @param content bytes, or text that is written as UTF-8
 */
export function writeAllSync(writer: { writeSync(bytes: Uint8Array): number }, content: Uint8Array | string): void {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  for (let done = 0; done < bytes.length;) done += writer.writeSync(bytes.subarray(done));
}
