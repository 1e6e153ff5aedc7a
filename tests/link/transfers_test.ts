/** What is on its way: in order, bounded, and tried again. */
import assert from "node:assert/strict";
import { Transfers } from "../../lib/link/transfers.ts";
import { BusError, type BusEvent, RefusedEventError } from "../../mod.ts";
import { until, within } from "../deadline.ts";

/** A target that answers when a test says so. */
class Target {
  readonly stop = new AbortController();
  readonly log: string[] = [];
  readonly failures: unknown[] = [];
  /** What is done with, in order. */
  readonly done: string[] = [];
  /** What has been begun, in order, and what answers it. */
  readonly begun: { readonly id: string; readonly answer: PromiseWithResolvers<void> }[] = [];
  readonly transfers = new Transfers({
    target: "target",
    publish: ({ id }) => {
      const answer = Promise.withResolvers<void>();
      this.begun.push({ id, answer });
      return answer.promise;
    },
    log: (message) => this.log.push(message),
    failed: (error) => this.failures.push(error),
    signal: this.stop.signal,
  });

  /** Adds events of so many bytes. */
  add(ids: readonly string[], bytes = 0): void {
    for (const id of ids) {
      const event: BusEvent = { id, time: "", topic: "n", payload: new Uint8Array(bytes) };
      this.transfers.add(event, () => this.done.push(id));
    }
  }

  /** What has been begun and not answered. */
  get under(): string[] {
    return this.begun.map(({ id }) => id);
  }

  /** Answers what was begun under that id. */
  async answer(id: string, error?: Error): Promise<void> {
    const at = this.begun.findIndex((begun) => begun.id === id);
    const [{ answer }] = this.begun.splice(at, 1);
    if (error === undefined) answer.resolve();
    else answer.reject(error);
    await new Promise((resolve) => setTimeout(resolve));
  }
}

const away = new BusError("it is away");

Deno.test("events are begun in order, at once, and done with in order, whichever is answered first", async () => {
  const target = new Target();
  target.add(["1", "2", "3"]);
  target.transfers.add(undefined, () => target.done.push("gap"));
  assert.deepEqual(target.under, ["1", "2", "3"]);
  await target.answer("2");
  assert.deepEqual(target.done, []);
  await target.answer("1");
  assert.deepEqual(target.done, ["1", "2"]);
  await target.answer("3");
  assert.deepEqual(target.done, ["1", "2", "3", "gap"]);
  await within(target.transfers.settled(), "the end");
  target.transfers.close();
  assert.deepEqual([target.log, target.failures], [[], []]);
});

Deno.test("so many may be under way, or so much, but always one", async () => {
  for (const [count, bytes] of [[1000, 0], [21, 100_000], [1, 3_000_000]]) {
    const target = new Target();
    let added = 0;
    const adding = (async () => {
      for (; added < 2 * count; added++) {
        await target.transfers.room();
        target.add([`${added}`], bytes);
      }
    })();
    await new Promise((resolve) => setTimeout(resolve));
    assert.equal(added, count);
    await target.answer("0");
    assert.equal(added, count + 1);
    // At the end nobody waits for room any more.
    target.stop.abort();
    await within(adding, "the end");
    target.transfers.close();
  }
});

Deno.test("a target that fails is tried with the first, and when it is back all follow in order", async () => {
  const target = new Target();
  target.add(["1", "2", "3"]);
  await target.answer("2", away);
  target.add(["4"]);
  assert.deepEqual(target.under, ["1", "3"]);
  await target.answer("1", away);
  await target.answer("3", away);
  for (let attempt = 0; attempt < 3; attempt++) {
    await until("another attempt", () => target.begun.length > 0);
    assert.deepEqual(target.under, ["1"]);
    await target.answer("1", attempt < 2 ? away : undefined);
  }
  assert.deepEqual(target.under, ["2", "3", "4"]);
  assert.deepEqual(target.log, ["it is away; it is tried again until it works", "target is back"]);
  for (const id of ["4", "3", "2"]) await target.answer(id);
  assert.deepEqual(target.done, ["1", "2", "3", "4"]);
  target.transfers.close();
});

Deno.test("what is refused is told of, and done with; a fault is no refusal", async () => {
  const target = new Target();
  target.add(["1", "2"]);
  await target.answer("1", new RefusedEventError("it is too long"));
  assert.deepEqual(target.log, ['the event "1" is not copied: it is too long']);
  assert.deepEqual(target.done, ["1"]);
  const fault = new TypeError("a fault");
  await target.answer("2", fault);
  assert.deepEqual(target.failures, [fault]);
  target.transfers.close();
});

Deno.test("who cannot remember what is done with is told so", () => {
  const target = new Target();
  const full = new BusError("the disk is full");
  target.transfers.add(undefined, () => {
    throw full;
  });
  assert.deepEqual(target.failures, [full]);
  target.transfers.close();
});

Deno.test("what is answered after the end is not done with", async () => {
  const target = new Target();
  target.add(["1"]);
  const settled = target.transfers.settled();
  target.transfers.close();
  await within(settled, "the end");
  await target.answer("1");
  assert.deepEqual(target.done, []);
});
