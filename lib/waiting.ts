/**
 * Waiting for what may never come, but not for ever.
 *
 * @module
 */

/**
 * Waits for a promise, but no longer than that; what it brings is not told.
 *
 * @param milliseconds how long at most
 * @param promise what to wait for
 * @throws what the promise rejects with, if it does so in time
 */
export async function waitAtMost(milliseconds: number, promise: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  try {
    await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
