/**
 * The file `DIR/id`, which holds a directory's identity: made when it is first asked for, so that it goes wherever the directory does.
 *
 * @module
 */
import { BusError } from "../../bus.ts";
import { isIdentity, newIdentity } from "../../identity.ts";
import { reasonOf, unlessMissing } from "../../os_error.ts";

/**
 * The identity of a directory.
 *
 * @param bus the directory, which is made if it is missing
 * @throws {BusError} if there is none yet and it cannot be written, or what is there is none
 */
export function directoryIdentity(bus: string): string {
  const path = `${bus}/id`;
  try {
    const text = unlessMissing(() => Deno.readTextFileSync(path)) ?? create(bus, path);
    const identity = text.trim();
    if (!isIdentity(identity)) {
      throw new Error("it does not hold 32 hexadecimal digits, as it should; it can be removed");
    }
    return identity;
  } catch (error) {
    throw new BusError(`cannot tell which bus ${bus} is by ${path}: ${reasonOf(error, bus)}`, { cause: error });
  }
}

/** Makes the file, unless somebody else does at the same moment. Returns what is in it then. */
function create(bus: string, path: string): string {
  // What a kill leaves there goes with all else that is left there.
  Deno.mkdirSync(`${bus}/tmp`, { recursive: true });
  const temporary = `${bus}/tmp/id.${crypto.randomUUID()}`;
  Deno.writeTextFileSync(temporary, `${newIdentity()}\n`, { createNew: true });
  try {
    Deno.linkSync(temporary, path);
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  } finally {
    Deno.removeSync(temporary);
  }
  return Deno.readTextFileSync(path);
}
