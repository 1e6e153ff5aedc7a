import assert from "node:assert/strict";
import fc from "fast-check";
import { checkFilter, compileFilter, FilterError, FilterTree } from "../lib/filter.ts";

/** Each line: a filter, topics that it matches, topics that it does not. */
const TABLE: [filter: string, matches: string[], others: string[]][] = [
  ["color", ["color"], ["colors", "color.red", "Color", "colo"]],
  ["*", ["color", "a.b", "a.b.c", "two words", "", "a..b"], []],
  [">", ["color", "a.b", "a.b.c", "two words", "", "a..b"], []],
  ["a.*", ["a.b", "a.*"], ["a", "a.b.c", "b.a"]],
  ["*.*", ["a.b"], ["a", "a.b.c"]],
  ["a.>", ["a.b", "a.b.c"], ["a", "b.c", "ab.c"]],
  ["*.b.>", ["a.b.c", "x.b.c.d"], ["a.b", "b.c", "a.c.d"]],
  ["session.*.agent.*.state", ["session.1.agent.7.state"], ["session.1.agent.state", "session.1.agent.7.state.x"]],
  ["sent:*", ["sent:1", "sent:a:b", "sent:*"], ["sent:", "sent", "sentx:1", "sent:1.x"]],
  ["a:b:*", ["a:b:c", "a:b:c:d"], ["a:b:", "a:b", "a:c:b"]],
  ["message.sent:*.>", ["message.sent:1.x"], ["message.sent:1", "message.sent.x"]],
  [":*", [":*"], [":x"]],
  ["a*", ["a*"], ["ab", "a"]],
  ["a>", ["a>"], ["ab"]],
  ["two words", ["two words"], ["two", "words"]],
];

Deno.test("a filter matches what the grammar says, alone and in a tree", () => {
  for (const [filter, matches, others] of TABLE) {
    const tree = new FilterTree<string>();
    tree.add(filter, "it");
    for (const topic of [...matches, ...others]) {
      const expected = matches.includes(topic);
      assert.equal(compileFilter(filter)(topic), expected, `${filter} alone against ${JSON.stringify(topic)}`);
      assert.equal(tree.match(topic).has("it"), expected, `${filter} in a tree against ${JSON.stringify(topic)}`);
    }
  }
});

Deno.test("what is not a filter is refused, with what would be right", () => {
  const refused: [filter: string, why: RegExp][] = [
    ["", /the filter "" is empty: to match every event, use >/],
    ["a..b", /"a..b" has an empty segment.*use \*/],
    [".", /empty segment/],
    ["a.", /empty segment/],
    [">.a", /">.a" has > before its end/],
    ["a.>.b", /> before its end: > stands last/],
    [">.>", /> before its end/],
  ];
  for (const [filter, why] of refused) {
    const isRefusal = (error: unknown) => error instanceof FilterError && why.test(error.message);
    assert.throws(() => checkFilter(filter), isRefusal);
    assert.throws(() => compileFilter(filter), isRefusal);
    assert.throws(() => new FilterTree().add(filter, 1), isRefusal);
  }
});

/** Says the same as the grammar in another way: as a regular expression. */
function naiveMatch(filter: string, topic: string): boolean {
  if (filter === "*" || filter === ">") return true;
  const pattern = filter.split(".").map((segment, i, all) => {
    if (segment === "*") return "[^.]*";
    if (segment === ">" && i === all.length - 1) return ".*";
    const literal = (text: string) => text.replace(/[^\w]/gu, "\\$&");
    return /.:\*$/.test(segment) ? `${literal(segment.slice(0, -1))}[^.]+` : literal(segment);
  });
  return new RegExp(`^${pattern.join("\\.")}$`, "s").test(topic);
}

const segment = fc.oneof(
  fc.constantFrom("a", "b", "ab", "*", "a:*", "a:b:*", "b:*", "a:1", "a:b:1", "a:", ":1", ":*", "a>", "*a"),
  fc.string({ unit: fc.constantFrom("a", ":", "*", "b"), minLength: 1, maxLength: 4 }),
);
const topics = fc.array(fc.oneof(segment, fc.constant(">")), { minLength: 1, maxLength: 5 }).map((parts) =>
  parts.join(".")
);
const filters = fc.tuple(fc.array(segment, { maxLength: 4 }), fc.oneof(segment, fc.constant(">")))
  .map(([parts, last]) => [...parts, last].join("."));

Deno.test("property: tree, compiled filter and a naive matcher agree", () => {
  fc.assert(
    fc.property(
      fc.array(filters, { maxLength: 20 }),
      fc.array(topics, { minLength: 1, maxLength: 10 }),
      (filters, topics) => {
        const tree = new FilterTree<number>();
        filters.forEach((filter, i) => tree.add(filter, i));
        for (const topic of topics) {
          const expected = filters.flatMap((filter, i) => naiveMatch(filter, topic) ? [i] : []);
          assert.deepEqual([...tree.match(topic)].sort((a, b) => a - b), expected, topic);
          assert.deepEqual(filters.flatMap((filter, i) => compileFilter(filter)(topic) ? [i] : []), expected, topic);
        }
      },
    ),
    { numRuns: 2000 },
  );
});

Deno.test("property: a tree forgets what is deleted, keeps the rest, and is empty in the end", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(filters, fc.nat(3)), { maxLength: 20 }),
      topics,
      fc.nat(19),
      (entries, topic, kept) => {
        const tree = new FilterTree<number>();
        for (const [filter, value] of entries) tree.add(filter, value);
        const held = new Set(entries.map(([filter, value]) => JSON.stringify([normal(filter), value])));
        const [left, gone] = [entries.slice(0, kept), entries.slice(kept)];
        for (const [filter, value] of gone) {
          assert.equal(tree.delete(filter, value), held.delete(JSON.stringify([normal(filter), value])));
        }
        const still = left.filter(([filter, value]) => held.has(JSON.stringify([normal(filter), value])));
        const expected = new Set(still.filter(([filter]) => naiveMatch(filter, topic)).map(([, value]) => value));
        assert.deepEqual(tree.match(topic), expected);
        for (const [filter, value] of still) tree.delete(filter, value);
        assert.equal(tree.match(topic).size, 0);
        assert.equal(tree.size, 0);
      },
    ),
  );
});

/** `*` alone is `>` under another name. */
function normal(filter: string): string {
  return filter === "*" ? ">" : filter;
}

Deno.test("a value under several filters is found once", () => {
  const tree = new FilterTree<string>();
  for (const filter of ["a.*", "a.>", "a.b", "*"]) tree.add(filter, "it");
  assert.deepEqual([...tree.match("a.b")], ["it"]);
  tree.delete("a.*", "it");
  assert.deepEqual([...tree.match("a.b")], ["it"]);
});
