/** Waiting for what must come, and saying what did not. */

/**
 * Waits for a promise, but not for ever: a test that hangs says nothing.
 *
 * @param promise what must come
 * @param what it is called in the error
 * @param milliseconds far more than it takes on a slow machine
 */
export async function within<T>(promise: Promise<T>, what: string, milliseconds = 60_000): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come within ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Asks again until the answer is yes, for what no event tells of, such as another process's memory or files. */
export async function until(what: string, ask: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000;
  while (!await ask()) {
    if (Date.now() > end) throw new Error(`${what} did not come within 60 s`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
