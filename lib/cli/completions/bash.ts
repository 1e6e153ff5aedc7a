/**
 * Completions for bash: what the tables say, and `engine.bash`, which is the same whatever they say. They need neither
 * bash-completion nor a new bash.
 *
 * @module
 */
import { type DescribedCommand, namesOf } from "../command.ts";
import { type Offer, offersOf } from "./offer.ts";
import { quoted, subcommandWords } from "./words.ts";

/**
 * The script.
 *
 * @param commands all subcommands
 */
export async function bashCompletions(commands: readonly DescribedCommand[]): Promise<string> {
  const engine = await Deno.readTextFile(new URL("engine.bash", import.meta.url));
  return `# Completions of ollie for bash, made by \`ollie completions bash\`.

_ollie_subcommands=(${Object.keys(subcommandWords(commands)).map(quoted).join(" ")})

# Sets names: the options of a subcommand.
_ollie_names() {
  names=()
  case $1 in
${commands.map(namesCase).join("")}  esac
}

# Sets option to an option's long name, and takes to = if it takes a value, =* if it may be given again.
_ollie_option() {
  option=$2 takes=
  case "$1 $2" in
${commands.flatMap(optionCases).join("")}  esac
}

# Offers what the value of an option may be, or the operand with this number.
_ollie_value() {
  case "$1 $2" in
${
    commands.flatMap(offersOf).map(([place, offer]) => `    ${quoted(place)}) ${callsOf(offer).join("; ")} ;;\n`).join(
      "",
    )
  }  esac
}

${engine}`;
}

function namesCase({ name, options }: DescribedCommand): string {
  const names = Object.entries(options).flatMap(([long, { short }]) => namesOf(long, short));
  return `    ${quoted(name)}) names=(${names.map(quoted).join(" ")}) ;;\n`;
}

function optionCases({ name, options }: DescribedCommand): string[] {
  return Object.entries(options).map(([long, { short, value, many }]) => {
    const patterns = namesOf(long, short).map((spelt) => quoted(`${name} ${spelt}`));
    const takes = value === undefined ? "" : ` takes=${quoted(many ? "=*" : "=")}`;
    return `    ${patterns.join(" | ")}) option=${quoted(`--${long}`)}${takes} ;;\n`;
  });
}

function callsOf({ words, prefixes, files }: Offer): string[] {
  const call = (name: string, words: readonly string[]) =>
    words.length === 0 ? [] : [`${name} "$3" ${words.map(quoted).join(" ")}`];
  return [
    ...call("_ollie_offer", Object.keys(words)),
    ...files === "none" ? [] : [`_ollie_${files} "$3"`],
    ...call("_ollie_prefixes", prefixes),
  ];
}
