/** Directories for tests, which go when the test ends. */

/** A new directory, removed with all that is in it at the end of the block. */
export interface TemporaryDirectory extends Disposable {
  /** Where it is. */
  readonly path: string;
}

/** Makes a directory. */
export function temporaryDirectory(): TemporaryDirectory {
  const path = Deno.makeTempDirSync({ prefix: "ollie-" });
  return { path, [Symbol.dispose]: () => Deno.removeSync(path, { recursive: true }) };
}

/** Whether there is such a file. */
export function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
