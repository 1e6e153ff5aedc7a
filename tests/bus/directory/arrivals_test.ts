import assert from "node:assert/strict";
import { Arrivals } from "../../../lib/bus/directory/arrivals.ts";
import { within } from "../../deadline.ts";
import { temporaryDirectory } from "../../temporary.ts";

/** Puts a function in place of one of Deno's, until the end of the block. */
function replace<Name extends "watchFs" | "readDir">(name: Name, substitute: typeof Deno[Name]): Disposable {
  const original = Deno[name];
  Deno[name] = substitute;
  return { [Symbol.dispose]: () => void (Deno[name] = original) };
}

/** Whether this release tells where it has dropped hints. */
const IS_NEW = /^(?:2\.(?:9|\d\d)|[3-9])/.test(Deno.version.deno);

/** The event loop comes round once, in which every hint that has been given is taken. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

// Old Deno releases hold 16 hints and drop the rest in silence: of those, ten are taken before the listing and six after it
// has begun. New ones say that there is a gap, and drop what they held.
for (const [releases, before, says, after] of [["old", 10, false, 6], ["new", 1, true, 0]] as const) {
  const name =
    `what is hinted after a gap, as ${releases} releases leave it, waits for a listing that has begun before`;
  // New ones are believed: without that flag there is no gap.
  Deno.test({
    name,
    ignore: releases === "old" && IS_NEW,
    fn: async () => {
      using directory = temporaryDirectory();
      const names = Array.from({ length: 40 }, (_, i) => `2001-01-01T00:00:00,0000000${10 + i}+00:00_n`);
      let hints: ReadableStreamDefaultController<Deno.FsEvent> | undefined;
      const stream = new ReadableStream<Deno.FsEvent>({ start: (controller) => void (hints = controller) });
      const hint = (name: string) => hints?.enqueue({ kind: "rename", paths: [`${directory.path}/events/${name}`] });
      using _watchFs = replace("watchFs", () => Object.assign(stream, { close() {}, [Symbol.dispose]() {} }));
      const arrived: string[] = [];
      const arrivals = new Arrivals(directory.path, {
        arrived: (name) => arrived.push(name),
        failed: (error) => arrived.push(error.message),
      });
      await arrivals.start();
      try {
        for (const name of names) Deno.writeTextFileSync(`${directory.path}/events/${name}`, "");
        const readDir = Deno.readDir;
        using _readDir = replace("readDir", async function* (path) {
          for (const name of names.slice(before, before + after)) hint(name);
          for (const name of names.slice(-2)) hint(name);
          await turn();
          yield* readDir(path);
        });
        for (const name of names.slice(0, before)) hint(name);
        if (says) hints?.enqueue({ kind: "any", paths: [`${directory.path}/events`], flag: "rescan" });
        await turn();
        assert.deepEqual(arrived, names.slice(0, before));
        await within(arrivals.list(), "the listing");
        assert.deepEqual(arrived, names);
      } finally {
        await arrivals.stop();
      }
    },
  });
}

Deno.test("what a new watch tells of, and the first listing shows, was there before", async () => {
  using directory = temporaryDirectory();
  Deno.mkdirSync(`${directory.path}/events`);
  const [old, gone, fresh] = ["old", "gone", "fresh"].map((topic) => `2001-01-01T00:00:00,000000001+00:00_${topic}`);
  Deno.writeTextFileSync(`${directory.path}/events/${old}`, "");
  let hints: ReadableStreamDefaultController<Deno.FsEvent> | undefined;
  const stream = new ReadableStream<Deno.FsEvent>({ start: (controller) => void (hints = controller) });
  const hint = (name: string) => hints?.enqueue({ kind: "rename", paths: [`${directory.path}/events/${name}`] });
  using _watchFs = replace("watchFs", () => Object.assign(stream, { close() {}, [Symbol.dispose]() {} }));
  const readDir = Deno.readDir;
  using _readDir = replace("readDir", async function* (path) {
    hint(old);
    // Too late for the listing, so it may be new.
    hint(gone);
    await turn();
    yield* readDir(path);
  });
  const arrived: string[] = [];
  const arrivals = new Arrivals(directory.path, {
    arrived: (name) => arrived.push(name),
    failed: (error) => arrived.push(error.message),
  });
  await within(arrivals.start(), "the start");
  assert.deepEqual(arrived, [gone]);
  hint(fresh);
  await turn();
  assert.deepEqual(arrived, [gone, fresh]);
  await arrivals.stop();
});
