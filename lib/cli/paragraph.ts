/**
 * Text in lines of some width. What a table of options says is written as sentences, which the help and the manual break where
 * they need to.
 *
 * @module
 */

/**
 * Breaks a text into lines.
 *
 * @param text words, between which any white space counts as one space
 * @param width how many characters a line may have; a word that is longer has a line to itself
 */
export function linesOf(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).filter((word) => word !== "")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return line === "" ? lines : [...lines, line];
}

/**
 * The paragraphs of a text: what empty lines stand between.
 *
 * @param text such as a command's description
 */
export function paragraphsOf(text: string): string[] {
  return text.split(/\n[ \t]*\n/).filter((paragraph) => paragraph.trim() !== "");
}
