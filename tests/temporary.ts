/** Directories for tests, which go when the test ends. */

/** A new directory, removed with all that is in it at the end of the block. */
export interface TemporaryDirectory extends Disposable {
  /** Where it is. */
  readonly path: string;
}

/** Makes a directory; in memory where the system has a place for that, since thousands of small files are slow on some disks. */
export function temporaryDirectory(): TemporaryDirectory {
  const path = Deno.makeTempDirSync({ prefix: "ollie-", dir: hasMemoryDisk ? "/dev/shm" : undefined });
  return { path, [Symbol.dispose]: () => Deno.removeSync(path, { recursive: true }) };
}

const hasMemoryDisk = Deno.build.os === "linux" && exists("/dev/shm");

/** Whether there is such a file. */
export function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
