/**
 * A host and a port, as addresses, URLs and permissions name them.
 *
 * @module
 */

/**
 * Puts the two together.
 *
 * @param hostname a name or an address, an IPv6 one without brackets
 * @param port its number
 * @returns such as `127.0.0.1:8080` and `[::1]:8080`
 */
export function hostAndPort(hostname: string, port: number): string {
  return `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}
