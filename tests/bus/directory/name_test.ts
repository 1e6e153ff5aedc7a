import assert from "node:assert/strict";
import fc from "fast-check";
import { isAfter as isMarkAfter } from "../../../lib/bus/place.ts";
import { markOf } from "../../../lib/bus/directory/order.ts";
import { formatName, isAfter, isLinked, parseName, sortNames } from "../../../lib/bus/directory/name.ts";

const NS = 1_777_777_777_123_456_789n;

Deno.test("an event is named as `date --iso-8601=ns` and the shell pair name it", () => {
  assert.equal(formatName(NS, "color"), "2026-05-03T03:09:37,123456789+00:00_color");
  assert.equal(formatName(NS, "a/b_c"), "2026-05-03T03:09:37,123456789+00:00_a%2Fb_c");
  assert.equal(formatName(NS, "a/b_c", "linked"), "2026-05-03T03:09:37,123456789Z_a%2Fb_c");
  assert(isLinked(formatName(NS, "n", "linked")) && !isLinked(formatName(NS, "n")));
  assert(!isLinked(formatName(NS, "Z_Z_Z_Z_Z_Z_Z_Z_Z_Z_Z_Z_Z_Z_Z_Z_Z_Z_Z_Z_Z_Z_")));
});

Deno.test("a name is read as liberally as scripts write it", () => {
  const time = "2026-05-03T03:09:37.123456789Z";
  const names: [name: string, topic: string][] = [
    ["2026-05-03T03:09:37,123456789+00:00_color", "color"],
    ["2026-05-03T03:09:37,123456789+0000_color", "color"],
    ["2026-05-03T03:09:37.123456789Z_color", "color"],
    ["2026-05-03T03:09:37,123456789+00:00_a_b", "a_b"],
    ["2026-05-03T03:09:37,123456789+00:00_two words", "two words"],
    ["2026-05-03T03:09:37,123456789+00:00_a\nb", "a\nb"],
    ["2026-05-03T03:09:37,123456789+00:00_a%2Fb", "a/b"],
    ["2026-05-03T03:09:37,123456789+00:00_100%", "100%"],
    ["2026-05-03T03:09:37,123456789+00:00_", ""],
    ["2026-05-03T03:09:37,123456789+00:00___x", "__x"],
  ];
  for (const [name, topic] of names) assert.deepEqual(parseName(name), { time, topic }, name);
  assert.equal(parseName("2026-05-03T03:09:37.5Z_a")?.time, "2026-05-03T03:09:37.500000000Z");
  assert.equal(parseName("2026-05-03T03:09:37+00:00_a")?.time, "2026-05-03T03:09:37.000000000Z");
});

Deno.test("other files are not events", () => {
  const others = [
    "README",
    "",
    "_",
    "_color",
    ".hidden",
    "color",
    "2026-05-03_color",
    "2026-05-03T03:09:37,123456789+00:00",
    "2026-05-03T03:09:37,123456789+02:00_color",
    "2026-13-03T03:09:37,123456789+00:00_color",
    "2026-05-03T24:09:37,123456789+00:00_color",
    "2026-05-03T03:09:37,+00:00_color",
    "2026-05-03T03:09:37,1234567890+00:00_a",
    "x2026-05-03T03:09:37,123456789+00:00_color",
    "2026-05-03 03:09:37,123456789+00:00_color",
  ];
  for (const name of others) assert.equal(parseName(name), undefined, name);
});

Deno.test("property: a name says the time and the topic that it was made of", () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 253_402_300_799_999_999_999n), fc.string({ unit: "grapheme" }), (moment, topic) => {
      const read = parseName(formatName(moment, topic));
      assert.equal(read?.topic, topic.toWellFormed());
      assert.equal(BigInt(Date.parse(read.time.slice(0, 23) + "Z")), moment / 1_000_000n);
    }),
  );
});

Deno.test("events are in the order of their times, however these are spelt", () => {
  const ordered = [
    "2026-05-03T03:09:36.9Z_z",
    "2026-05-03T03:09:37Z_b",
    "2026-05-03T03:09:37,000000001+00:00_b",
    "2026-05-03T03:09:37.1Z_a",
    "2026-05-03T03:09:37,123456789+0000_b",
    "2026-05-03T03:09:37,123456789+00:00_c",
    "2026-05-03T03:09:37.2Z_a",
  ];
  for (let i = 0; i < 50; i++) {
    const shuffled = ordered.map((name) => ({ name, key: Math.random() })).sort((a, b) => a.key - b.key);
    const names = sortNames(shuffled.map(({ name }) => name));
    const times = names.map((name) => parseName(name)?.time);
    assert.deepEqual(times, [...times].sort());
    assert.deepEqual([...names].sort(), [...ordered].sort());
  }
  assert(isAfter(ordered[3], ordered[2]) && !isAfter(ordered[2], ordered[3]) && !isAfter(ordered[2], ordered[2]));
});

Deno.test("property: of events that are published and linked, the order is that of `ls`, of cursors and of clients", () => {
  // Few moments, so that some are the same.
  const moment = fc.oneof(fc.bigInt(0n, 10n ** 19n), fc.bigInt(0n, 2n));
  const name = fc.tuple(moment, fc.constantFrom("a", "B"), fc.constantFrom("published", "linked"))
    .map(([moment, topic, how]) => formatName(moment, topic, how));
  fc.assert(fc.property(fc.array(name, { maxLength: 30 }), (names) => {
    const sorted = sortNames([...names]);
    assert.deepEqual(sorted, [...names].sort());
    for (let i = 1; i < sorted.length; i++) {
      const [before, after] = [sorted[i - 1], sorted[i]];
      assert.equal(isAfter(after, before), before !== after);
      assert.equal(isMarkAfter(markOf(after), markOf(before)), before !== after);
    }
  }));
});
