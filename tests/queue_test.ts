import assert from "node:assert/strict";
import fc from "fast-check";
import { Queue } from "../lib/queue.ts";

Deno.test("property: a queue gives back what it was given, in order", () => {
  fc.assert(fc.property(fc.array(fc.option(fc.nat()), { maxLength: 200 }), (steps) => {
    const queue = new Queue<number>();
    const model: number[] = [];
    for (const step of steps) {
      if (step === null) assert.equal(queue.shift(), model.shift());
      else {
        queue.push(step);
        model.push(step);
      }
      assert.equal(queue.size, model.length);
      assert.equal(queue.last, model.at(-1));
    }
  }));
});
