import assert from "node:assert/strict";
import { Progress } from "../../../lib/hub/page/resume.js";

Deno.test("a page that has seen nothing has nowhere to go on from, or where the hub said", () => {
  assert.equal(new Progress().request, undefined);
  const empty = new Progress();
  empty.begin(null, 0);
  assert.deepEqual(empty.request, { after: null });
  const quiet = new Progress();
  quiet.begin("9", 0);
  assert.deepEqual(quiet.request, { after: "9" });
});

Deno.test("it goes on from some seconds before the last event, and passes by what it has seen", () => {
  const progress = new Progress();
  progress.begin("start", 0);
  for (let second = 0; second <= 60; second++) assert(progress.note(`id ${second}`, second * 1000));
  assert.deepEqual(progress.request, { after: "id 55" });
  for (let second = 56; second <= 60; second++) assert(!progress.note(`id ${second}`, 61_000));
  assert(progress.note("id 55 and a half, which came late", 61_000));
});

Deno.test("in the first seconds it goes on from the very start", () => {
  const progress = new Progress();
  progress.begin(null, 0);
  for (let i = 1; i <= 40; i++) progress.note(`id ${i}`, i * 100);
  assert.deepEqual(progress.request, { after: null });
});

Deno.test("events that came together, as the past does, are known for as long as they can come again", () => {
  const progress = new Progress();
  for (let i = 0; i < 50; i++) progress.note(`past ${i}`, 0);
  progress.note("live", 60_000);
  assert.deepEqual(progress.request, { after: "past 0" });
  for (let i = 1; i < 50; i++) assert(!progress.note(`past ${i}`, 60_100));
});

Deno.test("in a flood it remembers a bounded number of ids, and goes on from among them", () => {
  const progress = new Progress();
  progress.begin("start", 0);
  for (let i = 0; i < 500_000; i++) assert(progress.note(`id ${i}`, i / 100));
  const { after } = progress.request as { after: string };
  const [, place] = after.split(" ").map(Number);
  assert(place >= 390_000, after);
  for (let i = place + 1; i < 500_000; i++) assert(!progress.note(`id ${i}`, 5000));
});

Deno.test("a gap is news once, and not where the page has had what is gone", () => {
  const progress = new Progress();
  progress.note("a", 0);
  progress.note("b", 1);
  assert(!progress.noteGap("b", "2026-01-01T00:00:01Z"));
  assert(progress.noteGap("c", "2026-01-01T00:00:02Z"));
  assert(!progress.noteGap("c", "2026-01-01T00:00:02Z"));
  assert(progress.noteGap("d", "2026-01-01T00:00:03Z"));
});
