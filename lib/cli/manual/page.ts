/**
 * The manual page: what the subcommands' tables say, and what is common to all of them.
 *
 * @module
 */
import { type DescribedCommand, namesOf, type OptionTable, type Words } from "../command.ts";
import { usageOf } from "../help.ts";
import { paragraphsOf } from "../paragraph.ts";
import { ADDRESSES, DESCRIPTION, ENVIRONMENT, EXIT_STATUS, FILES, FILTERS, NAME, TOPICS } from "./common.ts";
import { Marker } from "./marker.ts";
import { bold, explained, header, indented, paragraph, section, subsection, typed } from "./roff.ts";

/** When what it says was last changed. */
const REVISED = "2026-11-30";

/**
 * The page, in man(7).
 *
 * @param commands all subcommands
 * @param version ollie's
 */
export function manualPage(commands: readonly DescribedCommand[], version: string): string {
  const marker = new Marker(commands);
  const text = (...texts: readonly string[]) => texts.map((text) => paragraph(marker.mark(text))).join("");
  const table = (rows: Words) =>
    Object.entries(rows).map(([what, meaning]) => explained(bold(what), marker.mark(meaning))).join("");
  return [
    header("OLLIE", REVISED, `ollie ${version}`),
    section("NAME", text(`ollie - ${NAME}`)),
    section("SYNOPSIS", ...commands.map((command) => paragraph(synopsis(command, marker)))),
    section("DESCRIPTION", text(...DESCRIPTION)),
    section(
      "SUBCOMMANDS",
      text("Each of them has --help, too; ollie --help lists them, and ollie --version says which ollie this is."),
      ...commands.map((command) => subcommand(command, marker)),
    ),
    section("TOPICS AND FILTERS", text(TOPICS), table(FILTERS)),
    section("ADDRESSES", text("A BUS is given by its address:"), table(ADDRESSES)),
    section("EXIT STATUS", table(EXIT_STATUS)),
    section("ENVIRONMENT", table(ENVIRONMENT)),
    section("FILES", table(FILES)),
    section(
      "EXAMPLES",
      ...commands.flatMap(({ examples }) => examples).map(([command, effect]) =>
        text(`${capitalized(effect)}:`) + typed(command)
      ),
    ),
    section("SEE ALSO", paragraph(SEE_ALSO.map(([name, number]) => `${bold(name)}(${number})`).join(", "))),
  ].join("");
}

const SEE_ALSO = [["curl", 1], ["inotifywait", 1], ["jq", 1], ["mount", 8]] as const;

function synopsis({ name, operands }: DescribedCommand, marker: Marker): string {
  return `${bold(`ollie ${name}`)} ${marker.mark(`[OPTIONS] ${usageOf(operands)}`)}`.trimEnd();
}

function subcommand(command: DescribedCommand, marker: Marker): string {
  const { name, summary, description, operands, options } = command;
  const choices = operands.flatMap(({ value, words }) =>
    words === undefined ? [] : [paragraph(marker.mark(`${value} is one of these:`)), indented(wordList(words, marker))]
  );
  return subsection(
    `${name}: ${summary}`,
    ...paragraphsOf(description).map((text) => paragraph(marker.mark(text))),
    ...choices,
    optionList(options, marker),
  );
}

function optionList(table: OptionTable, marker: Marker): string {
  // Every subcommand has --help, which is said once.
  const own = Object.entries(table).filter(([name]) => name !== "help");
  return own.map(([name, { short, value, words, help }]) => {
    const spelt = namesOf(name, short).map(bold).join(", ");
    const taken = value === undefined ? "" : ` ${marker.mark(value)}`;
    return explained(spelt + taken, marker.mark(help)) + (words === undefined ? "" : indented(wordList(words, marker)));
  }).join("");
}

function wordList(words: Words, marker: Marker): string {
  return Object.entries(words).map(([word, meaning]) => explained(bold(word), marker.mark(meaning))).join("");
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
