/**
 * Names and addresses that stand for this machine, which no other can reach.
 *
 * @module
 */

/**
 * Whether a host is this machine alone.
 *
 * @param hostname a name or an address, an IPv6 one with brackets or without
 */
export function isLoopback(hostname: string): boolean {
  return /^(127(\.\d{1,3}){3}|\[?::1\]?|([^.]+\.)*localhost)$/i.test(hostname);
}
