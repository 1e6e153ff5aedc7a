/**
 * `ollie completions`: prints what a shell needs to complete ollie's command lines. It is made from the tables that command
 * lines are parsed by, and asks nothing of ollie when it completes.
 *
 * @module
 */
import { checkOperands, HELP_OPTION, listed, parseArgs, parseWord, printHelp, UsageError } from "./args.ts";
import { type Command, describeAll, type DescribedCommand, type Subcommands } from "./command.ts";
import { bashCompletions } from "./completions/bash.ts";
import { fishCompletions } from "./completions/fish.ts";
import { zshCompletions } from "./completions/zsh.ts";
import { printAnswer } from "./output.ts";
import { keepPermissions } from "./permissions.ts";

const SHELLS = { bash: "4 or later", zsh: "5 or later", fish: "3.4 or later" } as const;
const MAKERS: Readonly<
  Record<keyof typeof SHELLS, (commands: readonly DescribedCommand[]) => string | Promise<string>>
> = {
  bash: bashCompletions,
  zsh: zshCompletions,
  fish: fishCompletions,
};

const options = { ...HELP_OPTION } as const;

/** What its help and its completions tell. */
export const command: Command = {
  name: "completions",
  operands: [{ value: "SHELL", words: SHELLS }],
  description: `Print what a shell needs to complete ollie's command lines: subcommands, options, and values.

It is read when the shell starts, or put where the shell looks for it; then it is to be put there anew when there is a new
ollie.`,
  options,
  examples: [
    ['eval "$(ollie completions bash)"', "complete in bash; put it into ~/.bashrc"],
    ['eval "$(ollie completions zsh)"', "complete in zsh; put it into ~/.zshrc, after compinit"],
    ["ollie completions zsh > ~/.zfunc/_ollie", "the same, where ~/.zfunc is in $fpath before compinit"],
    ["ollie completions fish > ~/.config/fish/completions/ollie.fish", "complete in fish"],
  ],
};

/**
 * Runs `ollie completions`.
 *
 * @param args what was typed after it
 * @param subcommands which there are
 * @returns the exit status
 */
export async function run(args: readonly string[], subcommands: Subcommands): Promise<number> {
  const { values, operands } = parseArgs(options, args);
  if (values.help) return await printHelp(command);
  checkOperands(operands, 1);
  if (operands.length === 0) throw new UsageError(`say for which shell: ${listed(Object.keys(SHELLS), "or")}`);
  const shell = parseWord(SHELLS, operands[0], "SHELL");
  const commands = await describeAll(subcommands);
  const script = await MAKERS[shell](commands);
  keepPermissions();
  await printAnswer(script);
  return 0;
}
