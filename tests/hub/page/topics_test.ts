import assert from "node:assert/strict";
import { ORDERS, Topics } from "../../../lib/hub/page/topics.js";

Deno.test("a rate is what came in the last ten seconds", () => {
  const topics = new Topics(100, 0);
  const rate = () => topics.first(1, ORDERS.rate)[0].recent / topics.window;
  for (let second = 0; second < 30; second++) {
    topics.advance(second);
    for (let i = 0; i < 4; i++) topics.add("color", second * 1000, true);
  }
  topics.advance(30);
  assert.equal(rate(), 4);
  topics.advance(35);
  assert.equal(rate(), 2);
  topics.advance(1000);
  assert.equal(rate(), 0);
  assert.equal(topics.first(1, ORDERS.rate)[0].count, 120);
});

Deno.test("it holds no more topics than it was made for, and those that came last", () => {
  const topics = new Topics(50, 0);
  for (let i = 0; i < 1000; i++) {
    topics.add(`topic-${i}`, i, true);
    topics.add("busy", i, true);
  }
  assert.equal(topics.size, 50);
  assert(topics.overflowed);
  topics.advance(1);
  const names = topics.first(3, ORDERS.rate).map(({ name }) => name);
  assert.deepEqual(names, ["busy", "topic-999", "topic-998"]);
});

Deno.test("the first few are those of the whole order", () => {
  const topics = new Topics(10_000, 0);
  for (let i = 0; i < 5000; i++) topics.add(`t${(i * 7919) % 1000}`, i, i % 3 === 0);
  topics.advance(1);
  for (const order of Object.values(ORDERS)) {
    assert.deepEqual(topics.first(10, order), topics.first(10_000, order).slice(0, 10));
  }
});

Deno.test("what comes late counts, but not for the rate", () => {
  const topics = new Topics(10, 0);
  topics.add("late", 5, false);
  topics.advance(1);
  assert.deepEqual(topics.first(1, ORDERS.rate), [{ name: "late", count: 1, recent: 0, seen: 5 }]);
});
