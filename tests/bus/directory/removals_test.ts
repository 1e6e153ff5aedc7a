import assert from "node:assert/strict";
import { topicOf } from "../../../lib/bus/directory/name.ts";
import { markOf } from "../../../lib/bus/directory/order.ts";
import { Removals } from "../../../lib/bus/directory/removals.ts";
import type { Position } from "../../../mod.ts";
import { nameAt } from "./bus_files.ts";

/** A place after an event, or before all, where some have been seen. */
function place(after: string | undefined, ...seen: string[]): Position {
  return { after: after === undefined ? undefined : markOf(after), seen: seen.map(markOf) };
}

/** What somebody misses who wants a topic, or all. */
function missed(
  removals: Removals,
  place: Position,
  topic?: string,
  there: readonly string[] = [],
): string | undefined {
  const wants = (name: string) => topic === undefined || topicOf(name) === topic;
  return removals.missedSince(place, wants, (name) => there.includes(name));
}

Deno.test("a place is told of the last event that is gone and that it has not had", () => {
  const [a, b, c, d] = [0, 1, 2, 3].map((at) => nameAt(at));
  const removals = Removals.NONE.withGone([a, b, c]);
  assert.equal(missed(Removals.NONE, place(undefined)), undefined);
  assert.equal(missed(removals, place(undefined)), c);
  assert.equal(missed(removals, place(a)), c);
  assert.equal(missed(removals, place(c)), undefined);
  assert.equal(missed(removals, place(d)), undefined);
  assert.equal(missed(removals, place(undefined, a, b, c)), undefined);
  assert.equal(missed(removals, place(a, b, c, d)), undefined);
  // An event that came late, and was gone before it was seen.
  assert.equal(missed(removals, place(undefined, a, c)), b);
  assert.equal(missed(removals, place(undefined, a, b)), c);
  assert.equal(missed(removals, { ...place(undefined), gone: markOf(c) }), undefined);
  assert.equal(missed(removals, { ...place(undefined), gone: markOf(b) }), c);
});

Deno.test("what is not wanted is not missed, however old the place; nor what is there after all", () => {
  const rare = nameAt(0, "rare");
  const often = Array.from({ length: 100 }, (_, i) => nameAt(1 + i, "often"));
  const removals = Removals.NONE.withGone([rare, ...often]);
  assert.equal(missed(removals, place(rare), "rare"), undefined);
  assert.equal(missed(removals, place(undefined), "rare"), rare);
  assert.equal(missed(removals, place(rare), "often"), often.at(-1));
  assert.equal(missed(removals, place(undefined), "rare", [rare]), undefined);
  // About to be removed, by a process that was killed before it had.
  const going = Removals.NONE.withGoing(often);
  assert.equal(missed(going, place(undefined), "often", often), undefined);
  assert.equal(missed(going, place(undefined), "often", often.slice(50)), often[49]);
});

Deno.test("of many, the last of each topic is known; of too many topics, how far the earliest reach", () => {
  const rare = nameAt(0, "rare");
  const often = Array.from({ length: 30_000 }, (_, i) => nameAt(1 + i, "often"));
  let removals = Removals.NONE.withGone([rare]);
  for (let at = 0; at < often.length; at += 10_000) removals = removals.withGone(often.slice(at, at + 10_000));
  assert(removals.text.length < 1_000_000);
  assert.equal(missed(removals, place(rare), "rare"), undefined);
  assert.equal(missed(removals, place(undefined), "rare"), rare);
  assert.equal(missed(removals, place(rare), "other"), undefined);
  assert.equal(missed(removals, place(often[29_998]), "often"), often[29_999]);
  assert.equal(missed(removals, place(often[29_998], often[29_999]), "often"), undefined);
  // Whether the earlier ones have been had is not known any more.
  assert.equal(missed(removals, place(undefined, ...often.slice(-10_000)), "often"), often[29_999]);

  const topics = Array.from({ length: 20_000 }, (_, i) => nameAt(1_000_000 + i, `topic.${i}`));
  removals = removals.withGone(topics);
  assert(removals.text.length < 1_000_000);
  assert.equal(missed(removals, place(nameAt(900_000)), "rare"), topics[9_999]);
  assert.equal(missed(removals, place(topics[9_999]), "rare"), undefined);
  assert.equal(missed(removals, place(topics[9_999]), "topic.9999"), undefined);
  assert.equal(missed(removals, place(topics[9_999]), "topic.10000"), topics[10_000]);
});

Deno.test("it is the same after it has been written and read, and anything else is refused", () => {
  const names = [nameAt(0, "two words"), nameAt(1, "line\nbreak"), nameAt(2, '"quoted"')];
  const removals = Removals.NONE.withGone(names.slice(0, 2)).withGoing(names.slice(2));
  const read = Removals.parse(removals.text);
  assert.equal(read.text, removals.text);
  assert.deepEqual(read.going, names.slice(2));
  assert.equal(missed(read, place(names[0])), names[2]);
  for (
    const text of [
      "",
      "null",
      "[]",
      "{}",
      '{"format":"ollie pruned 2","going":[],"gone":[]}',
      removals.text.slice(0, 50),
    ]
  ) {
    assert.throws(() => Removals.parse(text), /it does not say "ollie pruned 1"/);
  }
  assert.throws(() => Removals.parse('{"format":"ollie pruned 1","going":[1],"gone":[]}'), /it lacks names/);
  assert.throws(() => Removals.parse('{"format":"ollie pruned 1","going":[],"gone":[],"until":1}'), /it lacks a name/);
});
