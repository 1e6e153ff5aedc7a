import assert from "node:assert/strict";
import type { Command } from "../../lib/cli/command.ts";
import { commandHelp, usageOf } from "../../lib/cli/help.ts";
import { linesOf, paragraphsOf } from "../../lib/cli/paragraph.ts";

const command: Command = {
  name: "try",
  operands: [{ value: "WHAT", words: { one: "the first", "twenty-one": "another" } }, {
    value: "WHERE",
    optional: true,
  }],
  description: "Try\nthis.\n\nOr that.",
  options: {
    short: { short: "s", help: "short" },
    "a-name-that-is-long": { value: "VALUE", help: `${"word ".repeat(20)}end` },
    kind: { value: "KIND", words: { a: "the one", b: "the other" }, help: "which kind" },
  },
  examples: [["ollie try one", "try"]],
};

Deno.test("the help is made from the table", () => {
  assert.equal(
    commandHelp(command, { isTerminal: () => false }),
    `Usage: ollie try [OPTIONS] WHAT [WHERE]

Try this.

Or that.

WHAT:
  one          the first
  twenty-one   another

Options:
  -s, --short              short
      --a-name-that-is-long VALUE
                           word word word word word word word word word word
                           word word word word word word word word word word end
      --kind KIND          which kind
                           a: the one
                           b: the other

Examples:
  ollie try one
      try
`,
  );
});

Deno.test("what may be left out stands in brackets", () => {
  assert.equal(usageOf([]), "");
  assert.equal(usageOf([{ value: "A" }]), "A");
  assert.equal(usageOf([{ value: "A", optional: true }, { value: "B", optional: true }]), "[A [B]]");
});

Deno.test("text is broken between words, and nowhere else", () => {
  assert.deepEqual(linesOf("  a bb\n\n ccc ", 4), ["a bb", "ccc"]);
  assert.deepEqual(linesOf("abcdef g", 3), ["abcdef", "g"]);
  assert.deepEqual(linesOf(" ", 3), []);
  assert.deepEqual(paragraphsOf("\na\nb\n \nc\n\n"), ["\na\nb", "c"]);
});
