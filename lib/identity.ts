/**
 * What tells a bus from every other, by whichever address it is reached: its identity. What links copy says by these on which buses
 * it has been, so that it is never brought back to one of them.
 *
 * @module
 */

/** On how many buses an event may have been: a longer way is none that anybody has meant. */
export const MAX_HOPS = 64;

/** How many bytes make an identity, so that no two are ever the same by chance. */
const BYTES = 16;

const IDENTITY = /^[0-9a-f]{32}$/;

/** An identity that no other bus has: 32 hexadecimal digits. */
export function newIdentity(): string {
  return hexadecimal(crypto.getRandomValues(new Uint8Array(BYTES)));
}

/**
 * The identity of what is known by a name, wherever that is asked.
 *
 * @param name all that makes it the one that it is
 */
export async function identityOf(name: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name));
  return hexadecimal(new Uint8Array(hash, 0, BYTES));
}

/**
 * Whether that is an identity.
 *
 * @param value what somebody says is one
 */
export function isIdentity(value: unknown): value is string {
  return typeof value === "string" && IDENTITY.test(value);
}

/**
 * Whether that is a list of buses on which an event can have been.
 *
 * @param value what somebody says is one
 */
export function isVia(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.length <= MAX_HOPS && value.every(isIdentity);
}

function hexadecimal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
