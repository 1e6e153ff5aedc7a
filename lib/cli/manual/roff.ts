/**
 * The language that manual pages are written in, as far as one needs it: man(7), which every `man` reads.
 *
 * @module
 */
import { linesOf } from "../paragraph.ts";

/** How long a line of the source may be, in characters: those who check manual pages complain of longer ones. */
const SOURCE_WIDTH = 78;

/** Characters that mean something to roff, or that it would turn into others that are prettier. */
const SPECIAL: Readonly<Record<string, string>> = {
  "\\": "\\e",
  "-": "\\-",
  '"': "\\(dq",
  "'": "\\(aq",
  "`": "\\(ga",
  "^": "\\(ha",
  "~": "\\(ti",
};

/**
 * Text that roff prints as it is.
 *
 * @param text anything; a control character becomes a question mark
 */
export function escaped(text: string): string {
  return text.replace(/[\\"'`^~-]|[^\x20-\x7e]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0xa0) return SPECIAL[character] ?? "?";
    return `\\[u${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  });
}

/** Escaped text in bold. */
export function bold(text: string): string {
  return `\\fB${escaped(text)}\\fR`;
}

/** Escaped text in italics, for what stands for something else. */
export function italic(text: string): string {
  return `\\fI${escaped(text)}\\fR`;
}

/**
 * Lines of roff that make running text.
 *
 * @param text has been escaped
 */
function filled(text: string): string {
  return linesOf(text, SOURCE_WIDTH).map((line) => `${guarded(line)}\n`).join("");
}

/** A line that begins with a dot would be a command. */
function guarded(line: string): string {
  return line.startsWith(".") ? `\\&${line}` : line;
}

/**
 * A section.
 *
 * @param title what it is called, in capitals
 * @param parts made by the functions below
 */
export function section(title: string, ...parts: readonly string[]): string {
  return `.SH "${escaped(title)}"\n${afterHeading(parts)}`;
}

/**
 * A part of a section.
 *
 * @param title what it is called
 * @param parts made by the functions below
 */
export function subsection(title: string, ...parts: readonly string[]): string {
  return `.SS "${escaped(title)}"\n${afterHeading(parts)}`;
}

/** A heading begins a paragraph by itself. */
function afterHeading(parts: readonly string[]): string {
  return parts.join("").replace(/^\.PP\n/, "");
}

/**
 * A paragraph.
 *
 * @param text has been escaped
 */
export function paragraph(text: string): string {
  return `.PP\n${filled(text)}`;
}

/**
 * Something, and an explanation that is indented.
 *
 * @param what has been escaped
 * @param explanation has been escaped
 */
export function explained(what: string, explanation: string): string {
  return `.TP\n${guarded(what)}\n${filled(explanation)}`;
}

/**
 * What is to be typed, line by line as it is.
 *
 * @param lines anything
 */
export function typed(...lines: readonly string[]): string {
  return `.PP\n.RS 4\n.EX\n${lines.map((line) => `${guarded(escaped(line))}\n`).join("")}.EE\n.RE\n`;
}

/**
 * Parts that are indented, such as those that belong to an explanation.
 *
 * @param parts made by the functions above
 */
export function indented(...parts: readonly string[]): string {
  return parts.length === 0 ? "" : `.RS\n${parts.join("")}.RE\n`;
}

/**
 * How a page begins. Words are not broken: many are to be typed.
 *
 * @param title what the page is called
 * @param date when it was last changed, as 2026-11-30; it stands there as it is
 * @param source what it belongs to
 */
export function header(title: string, date: string, source: string): string {
  return `.TH "${escaped(title)}" 1 "${date}" "${escaped(source)}" "User Commands"\n.nh\n.ad l\n`;
}
