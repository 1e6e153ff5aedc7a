import assert from "node:assert/strict";
import { Ring } from "../../../lib/hub/page/ring.js";

const event = (order: number, length = 1) => ({ order, topic: "a", time: "", line: "x".repeat(length) });
const orders = (ring: Ring) => ring.list().map(({ order }) => order);

Deno.test("a ring holds the latest, by number and by size, and says how many had to go", () => {
  const ring = new Ring(3, 10);
  assert.deepEqual([1, 2, 3, 4].map((order) => ring.push(event(order))), [0, 0, 0, 1]);
  assert.deepEqual(orders(ring), [2, 3, 4]);
  assert.equal(ring.push(event(5, 9)), 2);
  assert.deepEqual(orders(ring), [4, 5]);
  assert.equal(ring.push(event(6, 100)), 2);
  assert.deepEqual(orders(ring), [6]);
  assert.equal(ring.push(event(7)), 1);
  assert.deepEqual(orders(ring), [7]);
});

Deno.test("what is taken is the oldest, however often", () => {
  const ring = new Ring(5, 1000);
  for (let order = 0; order < 100; order++) {
    ring.push(event(order));
    if (order >= 2) assert.equal(ring.shift()?.order, order - 2);
  }
  assert.deepEqual(orders(ring), [98, 99]);
  ring.clear();
  assert.equal(ring.shift(), undefined);
});
