/**
 * The command line: a subcommand's options as a table, from which they are parsed here and explained by `help.ts`.
 *
 * It does what `getopt_long` has taught people to expect: `-m -e X`, `-meX`, `--event X`, `--event=X`, options among the
 * operands, `--` before operands that start with a dash.
 *
 * @module
 */
import type { Command, Option, OptionTable, OptionValues, Words } from "./command.ts";

/** The command line is wrong. The message says how, and what would be right. */
export class UsageError extends Error {
  /** `"UsageError"`. */
  override name = "UsageError";
}

/** A subcommand cannot do its work, for a reason that lies in neither the command line nor the bus. */
export class CommandError extends Error {
  /** `"CommandError"`. */
  override name = "CommandError";
}

/** Every subcommand has it. */
export const HELP_OPTION = { help: { short: "h", help: "show this help" } } as const satisfies OptionTable;

/**
 * Parses the arguments that follow a subcommand.
 *
 * @param table the options that there are
 * @param args what was typed
 * @returns the options' values, and the operands in order
 * @throws {UsageError} if an option is unknown (with the one that was probably meant), or has a value too many or too few
 */
export function parseArgs<const Table extends OptionTable>(
  table: Table,
  args: readonly string[],
): { values: OptionValues<Table>; operands: string[] } {
  const values: Record<string, boolean | string | string[] | undefined> = {};
  for (const [name, option] of Object.entries(table)) {
    values[name] = option.many ? [] : option.value === undefined ? false : undefined;
  }
  const operands: string[] = [];
  const rest = args.values();

  function set(name: string, option: Option, spelt: string, attached: string | undefined): void {
    if (option.value === undefined) {
      if (attached !== undefined) throw new UsageError(`${spelt} takes no value, but was given ${quoted(attached)}`);
      values[name] = true;
      return;
    }
    const value = attached ?? rest.next().value;
    if (value === undefined) throw new UsageError(`${spelt} needs a value: ${spelt} ${option.value}`);
    if (option.words !== undefined) parseWord(option.words, value, spelt);
    const held = values[name];
    if (Array.isArray(held)) held.push(value);
    else if (held === undefined) values[name] = value;
    else throw new UsageError(`${spelt} was given twice: it takes one ${option.value}`);
  }

  for (const arg of rest) {
    if (arg === "--") {
      operands.push(...rest);
    } else if (arg.startsWith("--")) {
      const [name, ...attached] = arg.slice(2).split("=");
      if (!Object.hasOwn(table, name)) throw unknownOption(`--${name}`, table);
      set(name, table[name], `--${name}`, attached.length > 0 ? attached.join("=") : undefined);
    } else if (arg.startsWith("-") && arg !== "-") {
      for (let at = 1; at < arg.length; at++) {
        const found = Object.entries(table).find(([, { short }]) => short === arg[at]);
        if (found === undefined) throw unknownOption(at === 1 ? arg : `-${arg[at]}`, table);
        const [name, option] = found;
        const attached = arg.slice(at + 1);
        const takesRest = option.value !== undefined && attached !== "";
        set(name, option, `-${arg[at]}`, takesRest ? attached : undefined);
        if (takesRest) break;
      }
    } else {
      operands.push(arg);
    }
  }
  // The loop above gave each name the kind of value that the type says, and a word only if it is one of those.
  return { values: values as OptionValues<Table>, operands };
}

function unknownOption(spelt: string, table: OptionTable): UsageError {
  const names = Object.keys(table).map((name) => `--${name}`);
  const near = nearest(spelt.startsWith("--") ? spelt : `-${spelt}`, names);
  return new UsageError(`unknown option ${spelt}${near === undefined ? "" : `; did you mean ${near}?`}`);
}

/**
 * Prints what `--help` asks for.
 *
 * @param command the subcommand
 * @returns the exit status
 */
export async function printHelp(command: Command): Promise<number> {
  const { commandHelp } = await import("./help.ts");
  const { printAnswer } = await import("./output.ts");
  await printAnswer(`${commandHelp(command, Deno.stdout)}\n`);
  return 0;
}

/**
 * Reads a word that is one of a few.
 *
 * @param words which there are
 * @param text what was typed
 * @param what what it stands for, for the error: an option, or an operand as the help calls it
 * @throws {UsageError} if it is none of them, with the one that was probably meant
 */
export function parseWord<Choice extends Words>(words: Choice, text: string, what: string): keyof Choice & string {
  // What has just been found among them is one of them.
  if (Object.hasOwn(words, text)) return text as keyof Choice & string;
  const all = Object.keys(words);
  const near = nearest(text, all);
  throw new UsageError(
    `${what} must be ${listed(all, "or")}, not ${quoted(text)}${near === undefined ? "" : `; did you mean ${near}?`}`,
  );
}

/**
 * Lists words as a sentence does: `a, b and c`.
 *
 * @param words at least one
 * @param last what stands before the last
 */
export function listed(words: readonly string[], last: "and" | "or"): string {
  const [end, ...others] = words.toReversed();
  return others.length === 0 ? end : `${others.toReversed().join(", ")} ${last} ${end}`;
}

/**
 * Refuses operands beyond those that a subcommand takes.
 *
 * @param operands what was given
 * @param most how many it takes
 * @param hint what those who give more may have meant
 * @throws {UsageError} naming the first that is too many
 */
export function checkOperands(operands: readonly string[], most: number, hint?: string): void {
  if (operands.length <= most) return;
  throw new UsageError(`unexpected argument ${quoted(operands[most])}${hint === undefined ? "" : `: ${hint}`}`);
}

/** Text in quotes, on one line whatever is in it. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

/**
 * Finds what was probably meant.
 *
 * @param typed what was typed
 * @param names what there is
 * @returns the nearest name, if one is near
 */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const small = typed.toLowerCase();
  const [best] = names
    .map((name) => ({ name, distance: small !== "" && name.startsWith(small) ? 0 : editDistance(small, name) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(name.replace(/^-+/, "").length / 3)))
    .sort((a, b) => a.distance - b.distance);
  return best?.name;
}

/** How many letters must be added, dropped, changed or swapped with their neighbour to make one word of another. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1];
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      if (swapped) row[j] = Math.min(row[j], beforeLast[j - 2] + 1);
    }
    [beforeLast, last] = [last, row];
  }
  return last[to.length];
}
