import assert from "node:assert/strict";
import fc from "fast-check";
import { checkTopic } from "../../../lib/event.ts";
import { compileFilter, filterCovers } from "../../../lib/filter.ts";
import { covers, subjectOf, subjectsOf, topicOf } from "../../../lib/bus/nats/subject.ts";

/** Any topic that the rules allow, and most of all what a subject would take for something else. */
const topics = fc.array(
  fc.oneof(
    fc.constantFrom("*", ">", "%", "%25", "%2A", "a:*", "$JS", "_INBOX", "é", "名前", "a/b", "50%"),
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
  ),
  { minLength: 1, maxLength: 5 },
).map((segments) => segments.join(".")).filter((topic) => {
  try {
    checkTopic(topic);
    return true;
  } catch {
    return false;
  }
});

Deno.test("property: every topic survives as a subject, which a server takes for one, and for no other's", () => {
  fc.assert(fc.property(topics, topics, (topic, other) => {
    const subject = subjectOf("a.b", topic);
    assert.equal(topicOf("a.b", subject), topic);
    // deno-lint-ignore no-control-regex
    assert.match(subject, /^a\.b(\.[^.*>\s\0-\x1f\x7f]+)+$/u);
    assert.equal(subject === subjectOf("a.b", other), topic === other);
  }));
});

Deno.test("property: what matches a filter has one of its subjects, and no subject twice", () => {
  const segment = fc.constantFrom("a", "b", "*", "a:1", "a:2", "a:*", "%");
  const filters = fc.array(
    fc.tuple(fc.array(segment, { minLength: 1, maxLength: 3 }), fc.boolean())
      .map(([segments, open]) => [...segments, ...open ? [">"] : []].join(".")),
    { minLength: 1, maxLength: 5 },
  );
  const topic = fc.array(fc.constantFrom("a", "b", "*", "a:1", "a:2", "%"), { minLength: 1, maxLength: 4 })
    .map((segments) => segments.join("."));
  fc.assert(
    fc.property(filters, topic, (filters, topic) => {
      const subjects = subjectsOf("p", filters);
      const matching = subjects.filter((subject) => covers(subject, subjectOf("p", topic)));
      assert(matching.length <= 1, `${topic} has ${matching.join(" and ")}`);
      if (filters.some((filter) => compileFilter(filter)(topic))) assert.equal(matching.length, 1);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("what others publish has the topic that it looks like", () => {
  const topicsOf = [["a.color", "color"], ["a.50%", "50%"], ["a.%2e", "%2e"], ["a.x%2Ey", "x%2Ey"], ["a.%20", "%20"]];
  for (const [subject, topic] of topicsOf) assert.equal(topicOf("a", subject), topic);
});

Deno.test("filters become as few subjects as can be, and never any that clash or are too long", () => {
  for (
    const [filters, subjects] of [
      [["color"], ["p.color"]],
      [["*"], ["p.>"]],
      [[">"], ["p.>"]],
      [["*", "color"], ["p.>"]],
      [["message.sent:*"], ["p.message.*"]],
      [["a.*", "a.b", "c"], ["p.a.*", "p.c"]],
      [["a.*", "*.b"], ["p.>"]],
      [["a.>", "a.*.c", "b.>"], ["p.a.>", "p.b.>"]],
      [["50%.x"], ["p.50%25.x"]],
      [["a\r\nPUB x 1", "b c"], ["p.a%0D%0APUB%20x%201", "p.b%20c"]],
      [["\u2003".repeat(900)], ["p.>"]],
      [Array.from({ length: 17 }, (_, i) => `n${i}`), ["p.>"]],
      [[], []],
    ] as const
  ) assert.deepEqual(subjectsOf("p", filters), subjects);
  assert.deepEqual(subjectsOf("p", ["a", "b"], 1), ["p.>"]);
  assert.deepEqual(subjectsOf("p", ["a", "a"], 1), ["p.a"]);
});

Deno.test("property: one subject covers another as filters do", () => {
  const pattern = fc.tuple(fc.array(fc.constantFrom("a", "b", "*"), { minLength: 1, maxLength: 3 }), fc.boolean())
    .map(([tokens, open]) => ["p", ...tokens, ...open ? [">"] : []].join("."));
  fc.assert(fc.property(pattern, pattern, (wide, narrow) => {
    assert.equal(covers(wide, narrow), filterCovers(wide, narrow));
  }));
});
