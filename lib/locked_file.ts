/**
 * A small file that one process at a time may change, and that others never see half written: it is locked, and replaced by another
 * one under its name, which is locked as well.
 *
 * @module
 */
import { writeAllSync } from "./bytes.ts";
import { unlessMissing } from "./os_error.ts";

/** How long another process may hold the file, in milliseconds, before it is said to be in use. */
const LOCK_WAIT_MS = 500;

/**
 * Opens a file so that no other process which does the same has it open.
 *
 * @param path the file
 * @returns the file, which is unlocked when it is closed; `undefined` if there is none
 * @throws {Deno.errors.Busy} if another process has it
 * @throws {Error} if it is not a file
 */
export async function openLocked(path: string): Promise<Deno.FsFile | undefined> {
  for (;;) {
    const file = unlessMissing(() => {
      // Opening a pipe would wait for its other end.
      if (!Deno.statSync(path).isFile) throw new Error("it is not a file");
      return Deno.openSync(path, { read: true, write: true });
    });
    if (file === undefined) return undefined;
    if (!await lockSoon(file)) {
      file.close();
      throw inUse();
    }
    if (file.statSync().ino === unlessMissing(() => Deno.statSync(path).ino)) return file;
    // Its owner has replaced it since it was opened.
    file.close();
  }
}

/**
 * Puts a new file into the place of one that this process has locked.
 *
 * @param path the file
 * @param text what is to be in it
 * @param put moves the new file there: {@linkcode moveWhereNoneIs} where there must not be one
 * @param temporary where the new file is until then: a name of this process's own, since another one may be about to do the same
 * @returns the new file, which is locked, to be written to at its end
 */
export function replaceLocked(
  path: string,
  text: string,
  put: (from: string, to: string) => void = Deno.renameSync,
  temporary: string = `${path}.${Deno.pid}`,
): Deno.FsFile {
  const file = Deno.openSync(temporary, { write: true, create: true, truncate: true });
  try {
    file.lockSync(true);
    writeAllSync(file, text);
    // A power cut must not leave an empty file under the old one's name.
    file.syncSync();
    put(temporary, path);
  } catch (error) {
    file.close();
    Deno.removeSync(temporary);
    throw error;
  }
  return file;
}

/**
 * Moves a file to where there is none, which renaming would not mind.
 *
 * @throws {Deno.errors.Busy} if there is one
 */
export function moveWhereNoneIs(from: string, to: string): void {
  try {
    Deno.linkSync(from, to);
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) throw inUse();
    throw error;
  }
  Deno.removeSync(from);
}

function inUse(): Error {
  return new Deno.errors.Busy("another process is using it");
}

/** Locks a file unless another process has it. No call that every supported release has asks for a lock without waiting. */
function lockSoon(file: Deno.FsFile): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), LOCK_WAIT_MS);
    file.lock(true).then(() => resolve(true), reject).finally(() => clearTimeout(timer));
  });
}
