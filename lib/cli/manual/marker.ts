/**
 * Sets text as manual pages do: options bold, and what stands for something else in italics.
 *
 * @module
 */
import type { Command } from "../command.ts";
import { bold, escaped, italic } from "./roff.ts";

/** Knows what in a text stands for something else, since the tables say what their values are called. */
export class Marker {
  readonly #marked: RegExp;

  /** @param commands whose options and operands may be spoken of */
  constructor(commands: readonly Command[]) {
    const values = commands.flatMap(({ options, operands }) =>
      [...Object.values(options), ...operands].flatMap(({ value = "" }) => value.match(/[A-Z]+/g) ?? [])
    );
    const names = [...new Set(["OPTIONS", ...values])].join("|");
    // A dash within a word makes no option of what follows it.
    this.#marked = new RegExp(`(?<option>(?<![^\\s(])--?[A-Za-z0-9][a-z0-9-]*)|(?<value>\\b(?:${names})\\b)`, "g");
  }

  /**
   * Sets a text.
   *
   * @param text as it stands in a table, where lines end anywhere
   * @returns escaped text
   */
  mark(text: string): string {
    const line = text.replace(/\s+/g, " ");
    let marked = "";
    let end = 0;
    for (const { 0: found, index, groups } of line.matchAll(this.#marked)) {
      marked += escaped(line.slice(end, index)) + (groups?.option === undefined ? italic(found) : bold(found));
      end = index + found.length;
    }
    return marked + escaped(line.slice(end));
  }
}
