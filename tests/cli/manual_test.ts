/** The manual page, as those who check and show such pages see it. */
import assert from "node:assert/strict";
import type { DescribedCommand } from "../../lib/cli/command.ts";
import { manualPage } from "../../lib/cli/manual/page.ts";
import { ADDRESS_PREFIXES } from "../../lib/address.ts";
import { temporaryDirectory } from "../temporary.ts";
import { has, ollie, subcommandNames } from "./ollie.ts";

/** What complains of a page, and shows it in lines that are as long as the page likes. */
const READERS: readonly (readonly [program: string, ...args: string[]])[] = [
  ["man", "--warnings", "-l"],
  ["groff", "-ww", "-Tutf8", "-man", "-P-cbou", "-rLL=1000n"],
  ["mandoc", "-Tlint"],
  ["mandoc", "-Tutf8", "-Owidth=1000"],
];

/** Texts that mean something to roff. */
const HOSTILE = [
  `.SH a line that begins with a dot`,
  `'br 'tis "quoted" 'twice' \`so\``,
  `a \\ back\\fBslash\\n \\" %s ~ ^ -- --no-such-option -x- ...`,
  `café ☕ 😀 ${"word ".repeat(30)}.end 'end`,
];
const hostile: DescribedCommand = {
  name: "try",
  summary: HOSTILE[0],
  operands: [{ value: "WHAT", words: Object.fromEntries(HOSTILE.map((text) => [text, text])) }],
  description: HOSTILE.join("\n\n"),
  options: Object.fromEntries(HOSTILE.map((help, i) => [`option-${i}`, { value: "[A:]B", help }])),
  examples: HOSTILE.map((text) => [text, text]),
};

/** Has a page read. Returns what was shown, and what was complained of. */
async function read(reader: typeof READERS[number], page: string): Promise<{ shown: string; complaints: string }> {
  using directory = temporaryDirectory();
  const file = `${directory.path}/ollie.1`;
  Deno.writeTextFileSync(file, page);
  const [program, ...args] = reader;
  const { stdout, stderr } = await new Deno.Command(program, {
    args: [...args, file],
    env: { MANWIDTH: "1000", LC_ALL: "C.UTF-8", MAN_KEEP_FORMATTING: "", PAGER: "cat" },
  }).output();
  const text = new TextDecoder();
  const isLint = args.includes("-Tlint");
  // What a terminal would show bold or underlined is printed twice.
  // deno-lint-ignore no-control-regex
  const shown = text.decode(stdout).replace(/.\x08|\x1b\[[\d;]*m/gu, "");
  return { shown: isLint ? "" : shown, complaints: (isLint ? shown : "") + text.decode(stderr) };
}

/** Text without what a reader adds for its lines. */
function words(text: string): string {
  return text.replace(/\s+/g, " ");
}

for (const reader of READERS) {
  const ignore = !has(reader[0]);
  if (ignore) console.warn(`there is no ${reader[0]}: the manual page is not read by it`);
  const name = `${reader[0]} ${reader[1]}`;
  Deno.test({
    name: `${name} has nothing to complain of in the manual page`,
    ignore,
    fn: async () => {
      const { code, stdout, stderr } = await ollie(["manual"]);
      assert.deepEqual([code, stderr], [0, ""]);
      const { shown, complaints } = await read(reader, stdout);
      assert.equal(complaints, "");
      if (shown !== "") assert(shown.includes("ollie 9p [OPTIONS] ACTION [PATH]"), shown);
    },
  });

  Deno.test({
    name: `nor whatever the tables hold, which ${name} shows as it is`,
    ignore,
    fn: async () => {
      const { shown, complaints } = await read(reader, manualPage([hostile], "1.2.3"));
      assert.equal(complaints, "");
      if (shown === "") return;
      for (const text of HOSTILE) {
        const count = words(shown).split(words(text).trim()).length - 1;
        assert(count >= 4, `${text} in ${shown}`);
      }
    },
  });
}

Deno.test("the manual page has all that there is", async () => {
  const { stdout: page } = await ollie(["manual"]);
  for (
    const heading of [
      "NAME",
      "SYNOPSIS",
      "DESCRIPTION",
      "SUBCOMMANDS",
      "TOPICS AND FILTERS",
      "ADDRESSES",
      "EXIT STATUS",
      "ENVIRONMENT",
      "FILES",
      "EXAMPLES",
      "SEE ALSO",
    ]
  ) assert(page.includes(`\n.SH "${heading}"\n`), heading);
  for (const prefix of ADDRESS_PREFIXES) assert(page.includes(prefix), prefix);
  for (const name of await subcommandNames()) {
    assert(page.includes(`\n.SS "${name}: `), name);
    const { stdout: help } = await ollie([name, "--help"]);
    for (const [, option] of help.matchAll(/^ {2}(?:-.,| {3}) --(\S+)/gm)) {
      const spelt = `\\-\\-${option.replaceAll("-", "\\-")}\\fR`;
      assert(option === "help" || page.includes(spelt), `${name} --${option}`);
    }
  }
  for (const line of page.split("\n")) assert(line.length <= 80 || line.startsWith("."), line);
});
