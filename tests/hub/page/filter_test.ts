import fc from "fast-check";
import assert from "node:assert/strict";
import { compileFilter } from "../../../lib/filter.ts";
import { compileFilter as compileInPage, compileFilters } from "../../../lib/hub/page/filter.js";

Deno.test("the page's filters say what Ollie's say, and refuse what they refuse, in the same words", () => {
  const segment = fc.constantFrom("a", "b", "*", ">", "a:*", "a:1", "a:b:*", ":*", "a:", "");
  const text = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join("."));
  fc.assert(fc.property(text, text, (filter, topic) => {
    assert.deepEqual(outcome(() => compileInPage(filter)(topic)), outcome(() => compileFilter(filter)(topic)));
  }));
});

function outcome(test: () => boolean): boolean | string {
  try {
    return test();
  } catch (error) {
    return (error as Error).message;
  }
}

Deno.test("several filters match what one of them matches, and none matches everything", () => {
  const either = compileFilters(" color  session.> ");
  assert.deepEqual(["color", "session.1.state", "session", "shape"].map(either), [true, true, false, false]);
  assert(compileFilters("  ")("anything"));
  assert.throws(() => compileFilters("color a..b"), /the filter "a..b" has an empty segment/);
});
