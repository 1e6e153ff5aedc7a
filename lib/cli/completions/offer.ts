/**
 * What completions offer for the values of options and for operands, whatever the shell.
 *
 * @module
 */
import { ADDRESS_PREFIXES } from "../../address.ts";
import type { Command, Value, Words } from "../command.ts";

/** What there is to be chosen from. */
export interface Offer {
  /** What it is called. */
  readonly value: string;
  /** Whole words, and what each means, as far as there is something to be said. */
  readonly words: Words;
  /** Beginnings, after which something is to be typed: behind `unix:`, the name of a file. */
  readonly prefixes: readonly string[];
  /** Names of files. */
  readonly files: "none" | "directories" | "files";
}

/**
 * Where a subcommand's command line has a place for which something can be offered.
 *
 * @param command the subcommand
 * @returns the places, such as `sub --format` for the value of an option and `sub 1` for an operand, and what is offered there
 */
export function offersOf({ name, options, operands }: Command): (readonly [place: string, offer: Offer])[] {
  const places: (readonly [string, Partial<Value>])[] = [
    ...Object.entries(options).map(([long, option]) => [`${name} --${long}`, option] as const),
    ...operands.map((operand, i) => [`${name} ${i + 1}`, operand] as const),
  ];
  return places.flatMap(([place, { value, words, suggestions }]) => {
    if (value === undefined) return [];
    const offer = offerOf({ value, words, suggestions });
    const isEmpty = Object.keys(offer.words).length === 0 && offer.prefixes.length === 0 && offer.files === "none";
    return isEmpty ? [] : [[place, offer] as const];
  });
}

function offerOf({ value, words, suggestions = [] }: Value): Offer {
  return {
    value,
    words: words ?? Object.fromEntries(suggestions.map((suggestion) => [suggestion, ""])),
    prefixes: prefixesOf(value),
    files: value === "FILE" ? "files" : ["BUS", "DIR"].includes(value) ? "directories" : "none",
  };
}

function prefixesOf(value: string): readonly string[] {
  if (value === "ADDRESS") return ["unix:", "tcp:"];
  // What is in the memory of a process is of use only to those whose table says so.
  return value === "BUS" ? ADDRESS_PREFIXES.filter((prefix) => prefix !== "mem:") : [];
}
