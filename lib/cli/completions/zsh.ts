/**
 * Completions for zsh, by its `_arguments`.
 *
 * @module
 */
import { HELP_OPTION } from "../args.ts";
import { type DescribedCommand, namesOf, type Option, type Words } from "../command.ts";
import { type Offer, offersOf } from "./offer.ts";
import { quoted, subcommandWords } from "./words.ts";

/**
 * The script: a file `_ollie` for `$fpath`, or something to be evaluated.
 *
 * @param commands all subcommands
 */
export function zshCompletions(commands: readonly DescribedCommand[]): string {
  const subcommands = describedWords(subcommandWords(commands));
  return `#compdef ollie
# Completions of ollie for zsh, made by \`ollie completions zsh\`.

_ollie() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C \\
    '(- *)'{-h,--help}${quoted(`[${escaped(HELP_OPTION.help.help)}]`)} \\
    '(- *)'{-V,--version}'[show which version this is]' \\
    '1: :_ollie_subcommands' \\
    '*:: :->arguments' && return
  [[ $state == arguments ]] || return 1
  case $words[1] in
    help) _arguments '1: :_ollie_subcommands' ;;
${commands.map(argumentsCase).join("")}  esac
}

_ollie_subcommands() {
  local -a words=(${subcommands})
  _describe subcommand words
}

# Offers what the value of an option may be, or the operand with this number.
_ollie_value() {
  local -a words
  case "$1 $2" in
${commands.flatMap(offersOf).map(([place, offer]) => `    ${quoted(place)}) ${callOf(offer)} ;;\n`).join("")}  esac
}

# Offers words, beginnings (behind unix:, names of files), and names of files. Of each kind there may be none.
_ollie_offer() {
  local value=$1 files=$2 offered=1
  shift 2
  if compset -P unix: && (( $@[(I)unix:] )); then
    _files
    return
  fi
  (( $#words == 0 )) || _describe $value words && offered=0
  (( $# == 0 )) || compadd -S '' -- $@ && offered=0
  case $files in
    files) _files && offered=0 ;;
    directories) _path_files -/ && offered=0 ;;
  esac
  return offered
}

if [[ $funcstack[1] == _ollie ]]; then _ollie "$@"; else compdef _ollie ollie; fi
`;
}

function argumentsCase({ name, options, operands }: DescribedCommand): string {
  const specs = [
    ...Object.entries(options).map(([long, option]) => optionSpec(name, long, option)),
    ...operands.map(({ value }, i) => quoted(`${i + 1}:${valueSpec(name, value, `${i + 1}`)}`)),
  ];
  return `    ${quoted(name)})\n      _arguments -s -S ${specs.join(" \\\n        ")} ;;\n`;
}

function optionSpec(command: string, long: string, { short, value, many, help }: Option): string {
  const names = namesOf(long, short);
  const spelt = value === undefined ? names : names.map((name) => `${name}${name.startsWith("--") ? "=" : "+"}`);
  const alternatives = spelt.length === 1 ? spelt[0] : `{${spelt.join(",")}}`;
  const taken = value === undefined ? "" : `:${valueSpec(command, value, `--${long}`)}`;
  const unlessGiven = many ? "*" : `(${names.join(" ")})`;
  return `${quoted(unlessGiven)}${alternatives}${quoted(`[${escaped(help)}]${taken}`)}`;
}

/** The space before the function keeps zsh from putting words of its own among those that follow. */
function valueSpec(command: string, value: string, place: string): string {
  return `${escaped(value)}: _ollie_value ${command} ${place}`;
}

function callOf({ value, words, prefixes, files }: Offer): string {
  const set = Object.keys(words).length === 0 ? "" : `words=(${describedWords(words)}); `;
  return `${set}_ollie_offer ${[value, files, ...prefixes].map(quoted).join(" ")}`;
}

function describedWords(words: Words): string {
  return Object.entries(words).map(([word, meaning]) => {
    const escapedWord = word.replace(/[\\:]/g, "\\$&");
    return quoted(meaning === "" ? escapedWord : `${escapedWord}:${meaning.replaceAll("\\", "\\\\")}`);
  }).join(" ");
}

/** Text in a specification of `_arguments`, where some characters mean something. */
function escaped(text: string): string {
  return text.replace(/[\\:[\]]/g, "\\$&");
}
