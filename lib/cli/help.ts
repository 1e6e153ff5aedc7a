/**
 * The help, made from the same tables that the command line is parsed by.
 *
 * @module
 */
import type { Command, OptionTable } from "./args.ts";

/** Headings stand out on a terminal, unless `NO_COLOR` asks that nothing does. */
function heading(text: string): string {
  return Deno.stdout.isTerminal() && !Deno.noColor ? `\x1b[1m${text}\x1b[0m` : text;
}

/**
 * Explains one subcommand.
 *
 * @param command which
 * @returns what `ollie SUBCOMMAND --help` prints, at most 80 columns wide
 */
export function commandHelp(command: Command): string {
  const examples = command.examples.map(([typed, effect]) => `  ${typed}\n      ${effect}\n`);
  return [
    `${heading("Usage:")} ollie ${command.name} [OPTIONS] ${command.operands}\n`,
    command.description,
    `${heading("Options:")}\n${optionLines(command.options)}`,
    `${heading("Examples:")}\n${examples.join("")}`,
  ].join("\n");
}

function optionLines(table: OptionTable): string {
  return Object.entries(table).map(([name, { short, value, help }]) => {
    const names = `${short === undefined ? "   " : `-${short},`} --${name}${value === undefined ? "" : ` ${value}`}`;
    const lines = help.split("\n").map((line) => " ".repeat(27) + line);
    const beside = names.length <= 23;
    return beside ? `  ${names.padEnd(25)}${lines.join("\n").trimStart()}\n` : `  ${names}\n${lines.join("\n")}\n`;
  }).join("");
}

/**
 * Explains the whole.
 *
 * @param summaries the subcommands, and what each is for
 * @returns what `ollie --help` prints
 */
export function overview(summaries: Readonly<Record<string, string>>): string {
  const lines = Object.entries(summaries).map(([name, summary]) => `  ${name.padEnd(9)}${summary}\n`);
  return [
    `${heading("Usage:")} ollie SUBCOMMAND [OPTIONS] [ARGUMENTS]\n`,
    "An event bus that needs nothing running: an event is a file in a directory.\n",
    `${heading("Subcommands:")}\n${lines.join("")}`,
    `${heading("Options:")}\n  -h, --help     show this help, or after a subcommand that subcommand's\n` +
    `  -V, --version  show which version this is\n`,
    `${heading("Examples:")}\n` +
    "  echo red | ollie pub /tmp/a color\n      publish an event\n" +
    "  ollie sub -m /tmp/a\n      print what has been published and what will be\n",
  ].join("\n");
}
