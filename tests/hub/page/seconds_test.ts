import assert from "node:assert/strict";
import { Seconds } from "../../../lib/hub/page/seconds.js";

Deno.test("it counts by the second, and leaves out the one that is running", () => {
  const seconds = new Seconds(4, 100);
  seconds.advance(100, true);
  seconds.add(100);
  seconds.add(100);
  seconds.advance(101, true);
  seconds.add(101);
  assert.deepEqual(seconds.list(), [undefined, undefined, undefined, 2]);
  seconds.advance(102, true);
  assert.deepEqual(seconds.list(), [undefined, undefined, 2, 1]);
  seconds.advance(105, true);
  assert.deepEqual(seconds.list(), [1, 0, 0, 0]);
});

Deno.test("seconds without a connection are unknown, until what was missed has come", () => {
  const seconds = new Seconds(4, 100);
  seconds.advance(100, true);
  for (let second = 101; second <= 103; second++) seconds.advance(second, false);
  seconds.advance(104, true);
  assert.deepEqual(seconds.list(), [0, undefined, undefined, undefined]);
  seconds.add(102);
  seconds.add(99);
  seconds.add(90);
  seconds.add(105);
  assert.deepEqual(seconds.list(), [0, undefined, 1, undefined]);
});

Deno.test("a clock that jumps does no harm", () => {
  const seconds = new Seconds(4, 100);
  seconds.advance(100, true);
  seconds.add(100);
  seconds.advance(90, true);
  seconds.advance(101, true);
  assert.deepEqual(seconds.list(), [undefined, undefined, undefined, 1]);
  seconds.advance(1_000_000, true);
  assert.deepEqual(seconds.list(), [0, 0, 0, 0]);
});
