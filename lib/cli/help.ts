/**
 * The help, made from the same tables that the command line is parsed by, at most 80 columns wide.
 *
 * @module
 */
import type { Command, Operand, OptionTable, Subcommands, Words } from "./command.ts";
import { linesOf, paragraphsOf } from "./paragraph.ts";

const WIDTH = 80;
/** Where the explanation of an option begins. */
const EXPLANATION_COLUMN = 27;

/** What the help is shown on: standard output, or standard error where it answers a mistake. */
export type HelpStream = Pick<typeof Deno.stdout, "isTerminal">;

/**
 * Explains one subcommand.
 *
 * @param command which
 * @param stream where it will be shown
 * @returns what `ollie SUBCOMMAND --help` prints
 */
export function commandHelp(command: Command, stream: HelpStream): string {
  const heading = headingFor(stream);
  const choices = command.operands.flatMap(({ value, words }) =>
    words === undefined ? [] : [`${heading(`${value}:`)}\n${wordLines(words)}`]
  );
  const examples = command.examples.map(([typed, effect]) => `  ${typed}\n${indented(effect, 6)}`);
  return [
    `${heading("Usage:")} ollie ${command.name} [OPTIONS] ${usageOf(command.operands)}`.trimEnd() + "\n",
    ...paragraphsOf(command.description).map((paragraph) => indented(paragraph, 0)),
    ...choices,
    `${heading("Options:")}\n${optionLines(command.options)}`,
    `${heading("Examples:")}\n${examples.join("")}`,
  ].join("\n");
}

/**
 * What may follow a subcommand and its options.
 *
 * @param operands in their order
 * @returns such as `[BUS [TOPIC]]`
 */
export function usageOf(operands: readonly Operand[]): string {
  const [first, ...others] = operands;
  if (first === undefined) return "";
  const all = `${first.value} ${usageOf(others)}`.trimEnd();
  return first.optional ? `[${all}]` : all;
}

/** Headings stand out on a terminal, unless `NO_COLOR` asks that nothing does. */
function headingFor(stream: HelpStream): (text: string) => string {
  return stream.isTerminal() && !Deno.noColor ? (text) => `\x1b[1m${text}\x1b[0m` : (text) => text;
}

function indented(text: string, columns: number): string {
  return linesOf(text, WIDTH - columns).map((line) => `${" ".repeat(columns)}${line}\n`).join("");
}

function optionLines(table: OptionTable): string {
  return Object.entries(table).map(([name, { short, value, words, help }]) => {
    const names = `${short === undefined ? "   " : `-${short},`} --${name}${value === undefined ? "" : ` ${value}`}`;
    const choices = Object.entries(words ?? {}).map(([word, meaning]) =>
      indented(`${word}: ${meaning}`, EXPLANATION_COLUMN)
    );
    return beside(`  ${names}`, help, EXPLANATION_COLUMN) + choices.join("");
  }).join("");
}

function wordLines(words: Words): string {
  const column = Math.max(...Object.keys(words).map((word) => word.length)) + 5;
  return Object.entries(words).map(([word, meaning]) => beside(`  ${word}`, meaning, column)).join("");
}

/** An explanation beside what it explains, or below where that is too long. */
function beside(what: string, explanation: string, column: number): string {
  const lines = indented(explanation, column);
  return what.length + 2 <= column ? what + lines.slice(what.length) : `${what}\n${lines}`;
}

/**
 * Explains the whole.
 *
 * @param subcommands which there are
 * @param stream where it will be shown
 * @returns what `ollie --help` prints
 */
export function overview(subcommands: Subcommands, stream: HelpStream): string {
  const heading = headingFor(stream);
  const summaries = Object.fromEntries(Object.entries(subcommands).map(([name, { summary }]) => [name, summary]));
  return [
    `${heading("Usage:")} ollie SUBCOMMAND [OPTIONS] [ARGUMENTS]\n`,
    "An event bus that needs nothing running: an event is a file in a directory.\n",
    `${heading("Subcommands:")}\n${wordLines(summaries)}`,
    `${heading("Options:")}\n  -h, --help     show this help, or after a subcommand that subcommand's\n` +
    `  -V, --version  show which version this is\n`,
    `${heading("Examples:")}\n` +
    "  echo red | ollie pub /tmp/a color\n      publish an event\n" +
    "  ollie sub -m /tmp/a\n      print what has been published and what will be\n",
  ].join("\n");
}
