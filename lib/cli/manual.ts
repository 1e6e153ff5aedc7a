/**
 * `ollie manual`: prints the manual page. It is made from the tables that command lines are parsed by.
 *
 * @module
 */
import metadata from "../../deno.json" with { type: "json" };
import { checkOperands, HELP_OPTION, parseArgs, printHelp } from "./args.ts";
import { type Command, describeAll, type Subcommands } from "./command.ts";
import { manualPage } from "./manual/page.ts";
import { printAnswer } from "./output.ts";
import { keepPermissions } from "./permissions.ts";

const options = { ...HELP_OPTION } as const;

/** What its help and its completions tell. */
export const command: Command = {
  name: "manual",
  operands: [],
  description: "Print the manual page, in the language that man reads.",
  options,
  examples: [
    ["ollie manual | man -l -", "read it"],
    ["ollie manual > /usr/local/share/man/man1/ollie.1", "put it where man finds it"],
  ],
};

/**
 * Runs `ollie manual`.
 *
 * @param args what was typed after it
 * @param subcommands which there are
 * @returns the exit status
 */
export async function run(args: readonly string[], subcommands: Subcommands): Promise<number> {
  const { values, operands } = parseArgs(options, args);
  if (values.help) return await printHelp(command);
  checkOperands(operands, 0);
  const commands = await describeAll(subcommands);
  keepPermissions();
  await printAnswer(manualPage(commands, metadata.version));
  return 0;
}
