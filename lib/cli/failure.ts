/**
 * What a person sees when something fails: one line on standard error, and an exit status.
 *
 * @module
 */
import { BusError } from "../bus.ts";
import { TopicError } from "../event.ts";
import { FilterError } from "../filter.ts";
import { withoutLogin } from "../address.ts";
import { missingPermission } from "../os_error.ts";
import { CommandError, UsageError } from "./args.ts";

/** Where the program itself is, which it reads as it needs more of itself. */
const OWN_DIRECTORY = new URL("../..", import.meta.url).pathname;

/** Something failed. */
const FAILED = 1;
/** The command line was wrong. */
const USAGE = 2;

/**
 * Says on standard error what failed.
 *
 * @param who the program and subcommand, such as `ollie pub`
 * @param error what was thrown
 * @returns the exit status: 2 if the command line was wrong, else 1
 */
export function reportFailure(who: string, error: unknown): number {
  if (error instanceof UsageError || error instanceof TopicError || error instanceof FilterError) {
    complain(who, `${error.message} (${who} --help explains)`);
    return USAGE;
  }
  const missing = error instanceof Error ? missingPermission(error.message, OWN_DIRECTORY) : undefined;
  if (error instanceof BusError || error instanceof CommandError) complain(who, error.message);
  // Whoever needs a permission for the work says for what. What is left is what ollie reads of itself.
  else if (missing !== undefined) complain(who, `cannot load a part of ollie: ${missing}`);
  // Anything else is a fault of ours, and where it happened is what we will want to know.
  else complain(who, `internal error: ${error instanceof Error ? error.stack : error}`);
  return FAILED;
}

/** What others have sent may be part of a message, and is to do nothing to the terminal. */
// deno-lint-ignore no-control-regex
const CONTROL = /[\0-\x09\x0b-\x1f\x7f-\x9f]/g;

/**
 * Writes a message on standard error. Passwords and tokens in the addresses that it names are left out.
 *
 * @param who the program and subcommand
 * @param message a sentence
 */
export function complain(who: string, message: string): void {
  const marked = Deno.stderr.isTerminal() && !Deno.noColor ? `\x1b[31m${who}:\x1b[0m` : `${who}:`;
  console.error(`${marked} ${withoutLogin(message).replace(CONTROL, "\ufffd")}`);
}
