/**
 * Completions for fish.
 *
 * @module
 */
import { HELP_OPTION } from "../args.ts";
import type { DescribedCommand, Words } from "../command.ts";
import { type Offer, offersOf } from "./offer.ts";
import { quotedForFish as quoted, subcommandWords } from "./words.ts";

/**
 * The script.
 *
 * @param commands all subcommands
 */
export function fishCompletions(commands: readonly DescribedCommand[]): string {
  const subcommands = describedWords(subcommandWords(commands));
  return `# Completions of ollie for fish, made by \`ollie completions fish\`.

# Whether a subcommand is the one that was asked for.
function __ollie_is --argument-names subcommand
    set -l words (commandline -opc)
    test "$words[2]" = "$subcommand"
end

# Whether an option may be given to a subcommand, by its long name, or the operand with this number is next.
function __ollie_wants --argument-names subcommand place
    __ollie_is $subcommand; or return
    set -l words (commandline -opc)[3..]
    set -l options
    set -l many
    switch $subcommand
${commands.map(optionsCase).join("")}    end
    set -l waiting no
    if not argparse --ignore-unknown $options -- $words 2>/dev/null
        # The last word is an option whose value is next.
        set waiting yes
        argparse --ignore-unknown $options -- $words[..-2] 2>/dev/null; or return
    end
    if string match -qr '^[0-9]+$' -- $place
        test $waiting = no; and test (count $argv) -eq (math $place - 1)
    else
        contains -- $place $many; or not set -q _flag_(string replace -a - _ -- $place)
    end
end

# What the value of an option may be, or the operand with this number.
function __ollie_value --argument-names place
    switch $place
${commands.flatMap(offersOf).map(valueCase).join("")}    end
end

# Beginnings; behind unix:, names of files.
function __ollie_prefixes
    set -l word (commandline -ct | string replace -r '^--[^=]*=' '')
    if string match -q 'unix:*' -- $word
        set -l path (string replace unix: '' -- $word | string escape)
        string replace -r '^' unix: -- (complete -C "'' $path")
    else
        printf '%s\\n' $argv
    end
end

function __ollie_subcommands
    printf '%s\\t%s\\n' ${subcommands}
end

complete -c ollie -f
complete -c ollie -n 'test (count (commandline -opc)) = 1' -a '(__ollie_subcommands)'
complete -c ollie -n 'test (count (commandline -opc)) = 1' -s h -l help -d ${quoted(HELP_OPTION.help.help)}
complete -c ollie -n 'test (count (commandline -opc)) = 1' -s V -l version -d 'show which version this is'
complete -c ollie -n '__ollie_is help; and test (count (commandline -opc)) = 2' -a '(__ollie_subcommands)'
${commands.flatMap(completeLines).join("\n")}
`;
}

function optionsCase({ name, options }: DescribedCommand): string {
  const entries = Object.entries(options);
  const specs = entries.map(([long, { short, value }]) =>
    quoted(`${short === undefined ? "" : `${short}/`}${long}${value === undefined ? "" : "=+"}`)
  );
  const many = entries.filter(([, { many }]) => many).map(([long]) => quoted(long));
  const lines = [`set options ${specs.join(" ")}`, ...many.length === 0 ? [] : [`set many ${many.join(" ")}`]];
  return `        case ${quoted(name)}\n${lines.map((line) => `            ${line}\n`).join("")}`;
}

function completeLines(command: DescribedCommand): string[] {
  const { name, options, operands } = command;
  const offers = new Map(offersOf(command));
  const hasLines = (place: string) => linesOf(offers.get(place)).length > 0;
  const argumentsAt = (place: string) => hasLines(place) ? ` -a ${quoted(`(__ollie_value ${quoted(place)})`)}` : "";
  return [
    ...Object.entries(options).map(([long, { short, value, help }]) => {
      const place = `${name} --${long}`;
      const names = `${short === undefined ? "" : ` -s ${quoted(short)}`} -l ${quoted(long)}`;
      const files = offers.get(place)?.files === "files" ? " -r -F" : " -x";
      const taken = value === undefined ? "" : files + argumentsAt(place);
      return `complete -c ollie -n ${quoted(`__ollie_wants ${name} ${long}`)}${names}${taken} -d ${quoted(help)}`;
    }),
    ...operands.map((_, i) => `${name} ${i + 1}`).filter(hasLines).map((place) =>
      `complete -c ollie -n ${quoted(`__ollie_wants ${place}`)}${argumentsAt(place)}`
    ),
  ];
}

function valueCase([place, offer]: readonly [string, Offer]): string {
  const lines = linesOf(offer);
  return lines.length === 0
    ? ""
    : `        case ${quoted(place)}\n${lines.map((line) => `            ${line}\n`).join("")}`;
}

/** What offers the value. Names of any files fish offers itself. */
function linesOf(offer: Offer | undefined): string[] {
  if (offer === undefined) return [];
  const { words, prefixes, files } = offer;
  return [
    ...Object.keys(words).length === 0 ? [] : [`printf '%s\\t%s\\n' ${describedWords(words)}`],
    ...prefixes.length === 0 ? [] : [`__ollie_prefixes ${prefixes.map(quoted).join(" ")}`],
    ...files === "directories" ? ["__fish_complete_directories"] : [],
  ];
}

function describedWords(words: Words): string {
  return Object.entries(words).flat().map(quoted).join(" ");
}
