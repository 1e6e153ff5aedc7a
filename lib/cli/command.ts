/**
 * A subcommand as a table: what its command line is parsed by (`args.ts`), and what its help, the manual page and the shells'
 * completions are made from. A subcommand that runs needs only the types, and so does not load this.
 *
 * @module
 */

/** Words to choose from, and what each means. */
export type Words = Readonly<Record<string, string>>;

/** What is typed for an option or as an operand, where that is not always the same. */
export interface Value {
  /**
   * What it is called in the help. Some names say what completions offer: for `FILE` files, for `DIR` directories, for `BUS`
   * those and the beginnings of other addresses, for `ADDRESS` the beginnings of those of a 9P server.
   */
  readonly value: string;
  /** The only words that it may be. */
  readonly words?: Words;
  /** What else completions offer. */
  readonly suggestions?: readonly string[];
}

/** One option. Its long name is its key in the table; without a `value`, it takes none. */
export interface Option extends Partial<Value> {
  /** The one-letter name. */
  readonly short?: string;
  /** Whether it may be given again, each time with another value. */
  readonly many?: true;
  /** What it does, for the help, which breaks the lines. */
  readonly help: string;
}

/** A subcommand's options, by their long names. */
export type OptionTable = Readonly<Record<string, Option>>;

/**
 * How an option is typed.
 *
 * @param long its long name
 * @param short its one-letter name
 * @returns such as `-d` and `--data`
 */
export function namesOf(long: string, short: string | undefined): string[] {
  return short === undefined ? [`--${long}`] : [`-${short}`, `--${long}`];
}

/** What was given for each option of a table. */
export type OptionValues<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Table[Name] extends { many: true } ? readonly string[]
    : Table[Name] extends { words: infer Choice extends Words } ? keyof Choice & string | undefined
    : Table[Name] extends { value: string } ? string | undefined
    : boolean;
};

/** What stands at one place among those arguments that are no options. */
export interface Operand extends Value {
  /** Whether it may be left out, and then all that follow it. */
  readonly optional?: true;
}

/** A subcommand, as its help shows it. */
export interface Command {
  /** What it is called. */
  readonly name: string;
  /** What follows its name and the options. */
  readonly operands: readonly Operand[];
  /** What it does, in a few lines, which the help breaks; an empty line begins a paragraph. */
  readonly description: string;
  /** Its options. */
  readonly options: OptionTable;
  /** What to type, and what that does. */
  readonly examples: readonly (readonly [command: string, effect: string])[];
}

/** What the module of a subcommand exports. */
export interface CommandModule {
  /** What it is. */
  readonly command: Command;
  /**
   * Runs it.
   *
   * @param args what was typed after it
   * @param subcommands all that there are, for those that tell of them
   * @returns the exit status
   */
  run(args: readonly string[], subcommands: Subcommands): Promise<number>;
}

/** A subcommand that is not loaded yet. */
export interface Subcommand {
  /** What it is for, in a few words. */
  readonly summary: string;
  /** Loads it. */
  load(): Promise<CommandModule>;
}

/** All subcommands, by their names. */
export type Subcommands = Readonly<Record<string, Subcommand>>;

/** A subcommand, with all that is told of it. */
export interface DescribedCommand extends Command {
  /** What it is for, in a few words. */
  readonly summary: string;
}

/**
 * Loads all subcommands, and returns what is told of them.
 *
 * @param subcommands which there are
 */
export async function describeAll(subcommands: Subcommands): Promise<readonly DescribedCommand[]> {
  return await Promise.all(
    Object.values(subcommands).map(async ({ summary, load }) => ({ ...(await load()).command, summary })),
  );
}
