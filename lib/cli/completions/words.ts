/**
 * Names and texts as words of a shell's script.
 *
 * @module
 */
import type { DescribedCommand, Words } from "../command.ts";

/**
 * What may come first on a command line, and what it is for.
 *
 * @param commands all subcommands
 */
export function subcommandWords(commands: readonly DescribedCommand[]): Words {
  return {
    ...Object.fromEntries(commands.map(({ name, summary }) => [name, summary])),
    help: "show the help of a subcommand",
  };
}

/**
 * A text as one word of a script for bash or zsh.
 *
 * @param text anything on one line
 */
export function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * A text as one word of a script for fish, where a backslash counts even between quotes.
 *
 * @param text anything on one line
 */
export function quotedForFish(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replace(/[\\']/g, "\\$&")}'`;
}
