/**
 * The address of a 9P server, as it is typed on a command line.
 *
 * @module
 */
import { type NinepAddress, parseNinepAddress } from "../ninep/address.ts";
import { messageOf } from "../thrown.ts";
import { UsageError } from "./args.ts";

/**
 * Reads it.
 *
 * @param text what was typed
 * @param who what the error begins with: the option that it was given to, say
 * @throws {UsageError} if it is none
 */
export function parseServerAddress(text: string, who = ""): NinepAddress {
  try {
    return parseNinepAddress(text);
  } catch (error) {
    throw new UsageError(`${who}${messageOf(error)}`);
  }
}
