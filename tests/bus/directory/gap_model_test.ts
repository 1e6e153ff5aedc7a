/** Whatever is published, removed and read in whatever order: each event is had once, or told of as gone. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { isAfter } from "../../../lib/bus/directory/name.ts";
import { prune } from "../../../lib/bus/directory/prune.ts";
import { Cursor } from "../../../lib/cli/cursor.ts";
import { DirectoryBus, GapError } from "../../../mod.ts";
import { within } from "../../deadline.ts";
import { temporaryDirectory } from "../../temporary.ts";
import { make, nameAt, namesIn } from "./bus_files.ts";

/** How long the cursor's window is, in milliseconds; events that come late come within it. */
const WINDOW_MS = 1000;

type Step =
  | { readonly publish: number; readonly late: boolean; readonly wanted: boolean }
  | { readonly keep: number }
  | { readonly read: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ publish: fc.integer({ min: 1, max: 900 }), late: fc.boolean(), wanted: fc.boolean() }),
  fc.record({ keep: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ read: fc.integer({ min: 0, max: 4 }) }),
);

Deno.test("a cursor has each event once, or is told that it is gone, and of nothing else", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      using directory = temporaryDirectory();
      const path = `${directory.path}/bus`;
      make(path, []);
      /** What has been published and neither had nor told of as gone; and what had been told of up to where. */
      const owed = new Set<string>();
      let told: string | undefined;
      let now = 0;
      for (const step of steps) {
        if ("publish" in step) {
          // As far back as a slow writer's, or the next.
          const at = step.late ? Math.max(0, now - step.publish) : now += step.publish;
          const name = nameAt(at, step.wanted ? "wanted" : "other");
          if (namesIn(path).includes(name) || (told !== undefined && !isAfter(name, told))) continue;
          make(path, [name]);
          if (step.wanted) owed.add(name);
        } else if ("keep" in step) {
          await prune(path, step);
        } else {
          told = await read(directory.path, step.read, owed, told);
        }
      }
      await read(directory.path, 100, owed, told);
      assert.deepEqual([...owed], []);
    }),
    { numRuns: 60 },
  );
});

/** Reads some events with a cursor, as `ollie sub` does. Returns up to where it has been told of gaps. */
async function read(directory: string, count: number, owed: Set<string>, told: string | undefined) {
  using cursor = await Cursor.open(`${directory}/cursor`, WINDOW_MS);
  await using bus = new DirectoryBus(`${directory}/bus`);
  const end = (await bus.publish("end", "")).id;
  await using events = bus.subscribe(["wanted", "end"], { from: cursor.position ?? { after: undefined, seen: [] } });
  const position = await events.ready;
  assert(position !== undefined);
  if (cursor.position === undefined) cursor.create(position);
  for (let i = 0; i < count; i++) {
    try {
      const { value } = await within(events.next(), "the next");
      if (value === undefined || value.id === end) break;
      assert(owed.delete(value.id), `${value.id} was not owed`);
      cursor.record(value);
    } catch (error) {
      if (!(error instanceof GapError)) throw error;
      const { id } = error.until;
      const there = namesIn(`${directory}/bus`);
      const gone = [...owed].filter((name) => !there.includes(name));
      assert(gone.includes(id), `${id} is not gone, or was not owed`);
      for (const name of gone) assert(owed.delete(name) && !isAfter(name, id), `${name} is after the gap's end`);
      cursor.recordGone(error.until);
      told = id;
    }
  }
  Deno.removeSync(`${directory}/bus/events/${end}`);
  return told;
}
