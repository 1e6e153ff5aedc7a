import assert from "node:assert/strict";
import { listed, nearest, parseArgs, UsageError } from "../../lib/cli/args.ts";

const table = {
  monitor: { short: "m", help: "" },
  event: { short: "e", value: "FILTER", many: true, help: "" },
  count: { short: "c", value: "N", help: "" },
  null: { short: "0", help: "" },
  after: { value: "ID", help: "" },
  format: { short: "f", value: "FORMAT", words: { raw: "", json: "" }, help: "" },
} as const;

/** What was given, without what was not. */
function parsed(...args: string[]): unknown {
  const { values, operands } = parseArgs(table, args);
  const given = Object.entries(values).filter(([, value]) => Array.isArray(value) ? value.length > 0 : value);
  return { ...Object.fromEntries(given), operands };
}

Deno.test("options are given as getopt_long has taught people", () => {
  assert.deepEqual(parsed(), { operands: [] });
  assert.deepEqual(parsed("-m", "a", "--count", "3", "b"), { monitor: true, count: "3", operands: ["a", "b"] });
  assert.deepEqual(parsed("-mec", "-c3", "--event=d=e"), {
    monitor: true,
    event: ["c", "d=e"],
    count: "3",
    operands: [],
  });
  assert.deepEqual(parsed("-m0"), { monitor: true, null: true, operands: [] });
  assert.deepEqual(parsed("-e", "-m"), { event: ["-m"], operands: [] });
  assert.equal(parseArgs(table, ["--after="]).values.after, "");
  assert.deepEqual(parsed("--", "-m", "--"), { operands: ["-m", "--"] });
  assert.deepEqual(parsed("-"), { operands: ["-"] });
});

Deno.test("what is wrong is said, with what was probably meant", () => {
  const wrong: [args: string[], message: string][] = [
    [["--moniter"], "unknown option --moniter; did you mean --monitor?"],
    [["--mon"], "unknown option --mon; did you mean --monitor?"],
    [["--evnet=x"], "unknown option --evnet; did you mean --event?"],
    [["-after"], "unknown option -after; did you mean --after?"],
    [["--zebra"], "unknown option --zebra"],
    [["--toString"], "unknown option --toString"],
    [["-mx"], "unknown option -x"],
    [["-fjsno"], '-f must be raw or json, not "jsno"; did you mean json?'],
    [["--format="], '--format must be raw or json, not ""'],
    [["--format", "toString"], '--format must be raw or json, not "toString"'],
    [["-e"], "-e needs a value: -e FILTER"],
    [["--count"], "--count needs a value: --count N"],
    [["--monitor=yes"], '--monitor takes no value, but was given "yes"'],
    [["-c", "1", "--count", "2"], "--count was given twice: it takes one N"],
  ];
  for (const [args, message] of wrong) {
    assert.throws(() => parseArgs(table, args), (error) => {
      assert(error instanceof UsageError);
      assert.equal(error.message, message);
      return true;
    });
  }
});

Deno.test("a value that is one of some words has the type of those", () => {
  const format: "raw" | "json" | undefined = parseArgs(table, ["-f", "json"]).values.format;
  assert.equal(format, "json");
});

Deno.test("words are listed as a sentence does", () => {
  assert.equal(listed(["a"], "or"), "a");
  assert.equal(listed(["a", "b"], "or"), "a or b");
  assert.equal(listed(["a", "b", "c"], "and"), "a, b and c");
});

Deno.test("what is near is found, what is not is not", () => {
  assert.equal(nearest("pubb", ["pub", "sub"]), "pub");
  assert.equal(nearest("upb", ["pub", "sub"]), "pub");
  assert.equal(nearest("SUB", ["pub", "sub"]), "sub");
  assert.equal(nearest("", ["pub", "sub"]), undefined);
  assert.equal(nearest("hub", ["prune", "completions"]), undefined);
});
