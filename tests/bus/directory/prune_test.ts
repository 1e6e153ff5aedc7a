import assert from "node:assert/strict";
import { prune } from "../../../lib/bus/directory/prune.ts";
import { formatName } from "../../../lib/bus/directory/name.ts";
import { BusError, DirectoryBus } from "../../../mod.ts";
import { within } from "../../deadline.ts";
import { exists, temporaryDirectory } from "../../temporary.ts";
import { textsOf } from "../reading.ts";
import { make, nameAt, namesIn } from "./bus_files.ts";

const HOUR_MS = 3_600_000;

/** The name of an event so many milliseconds before now. */
function nameAgo(milliseconds: number): string {
  return formatName(BigInt(Math.floor(Date.now() - milliseconds)) * 1_000_000n, "n");
}

Deno.test("each limit by itself, and all together: the oldest go, in the order of their names", async () => {
  const old = [nameAgo(3 * HOUR_MS), nameAgo(2 * HOUR_MS)];
  const recent = [nameAgo(4000), nameAgo(3000), nameAgo(2000)];
  const all = [...old, ...recent];
  const ten = "0123456789";
  for (
    const [limits, stay] of [
      [{}, 5],
      [{ olderThan: HOUR_MS }, 3],
      [{ olderThan: 10 * HOUR_MS }, 5],
      [{ olderThan: 0 }, 0],
      [{ keep: 4 }, 4],
      [{ keep: 5 }, 5],
      [{ keep: 1 }, 1],
      [{ maxBytes: 50 }, 5],
      [{ maxBytes: 49 }, 4],
      [{ maxBytes: 10 }, 1],
      [{ maxBytes: 9 }, 0],
      [{ olderThan: HOUR_MS, keep: 4, maxBytes: 45 }, 3],
      [{ olderThan: HOUR_MS, keep: 2, maxBytes: 45 }, 2],
      [{ olderThan: HOUR_MS, keep: 2, maxBytes: 15 }, 1],
    ] as const
  ) {
    using directory = temporaryDirectory();
    make(directory.path, all, ten);
    if ("olderThan" in limits && limits.olderThan === 0) {
      const past = new Date(Date.now() - 1000);
      for (const name of all) Deno.utimeSync(`${directory.path}/events/${name}`, past, past);
    }
    const expected = { events: 5 - stay, bytes: 10 * (5 - stay), orphans: 0, ahead: 0 };
    assert.deepEqual(await prune(directory.path, limits, { dryRun: true }), expected, JSON.stringify(limits));
    assert.deepEqual(namesIn(directory.path), all);
    assert(!exists(`${directory.path}/pruned`));
    assert.deepEqual(await prune(directory.path, limits), expected, JSON.stringify(limits));
    assert.deepEqual(namesIn(directory.path), all.slice(5 - stay), JSON.stringify(limits));
    assert.deepEqual((await prune(directory.path, limits)).events, 0);
  }
});

Deno.test("many within a second, and many seconds: so many stay, and they are the newest", async () => {
  using directory = temporaryDirectory();
  // Neither made in the order of their names, nor listed in it.
  const names = Array.from({ length: 500 }, (_, i) => nameAt((i * 37) % 500 * 7));
  make(directory.path, names, "x");
  const sorted = names.toSorted();
  for (const keep of [493, 350, 349, 100, 7, 1]) {
    await prune(directory.path, { keep });
    assert.deepEqual(namesIn(directory.path), sorted.slice(-keep));
  }
});

Deno.test("what is no event, or is dated in the future, stays and does not count", async () => {
  using directory = temporaryDirectory();
  const { path } = directory;
  const events = [nameAt(0), nameAt(1), nameAt(2)];
  const ahead = ["2999-01-01T00:00:00,000000000+00:00_n", "2999-01-01T00:00:01,000000000+00:00_n"];
  make(path, [...events, "README", ...ahead]);
  Deno.mkdirSync(`${path}/events/${nameAt(3)}`);
  new Deno.Command("mkfifo", { args: [`${path}/events/${nameAt(4)}`] }).outputSync();
  new Deno.Command("bash", { args: ["-c", `touch "$1/${nameAt(5)}"$'\\xff'`, "-", `${path}/events`] }).outputSync();
  const others = namesIn(path).filter((name) => !events.includes(name));
  const { events: count, ahead: left } = await prune(path, { keep: 1, olderThan: HOUR_MS });
  assert.deepEqual([count, left], [3, 2]);
  assert.deepEqual(namesIn(path), others);
});

Deno.test("an event of a clock that is behind is as old as its file, by age; by its place, it is what it says", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path, { clock: () => 1_777_777_777_000_000_000n });
  const { id } = await bus.publish("n", "x");
  assert.equal((await prune(directory.path, { olderThan: HOUR_MS })).events, 0);
  const newer = nameAgo(1000);
  make(directory.path, [newer]);
  await prune(directory.path, { keep: 1 });
  assert.deepEqual(namesIn(directory.path), [newer]);
  assert.notEqual(id, newer);
});

Deno.test("files left in tmp/ go when they are an hour old, whatever they are called", async () => {
  using directory = temporaryDirectory();
  const { path } = directory;
  make(path, [nameAt(0)]);
  Deno.mkdirSync(`${path}/tmp/directory`, { recursive: true });
  for (const [name, age] of [["old", 61], [nameAt(0), 62], ["young", 59], ["ahead", -100]] as const) {
    Deno.writeTextFileSync(`${path}/tmp/${name}`, "x");
    const time = new Date(Date.now() - age * 60_000);
    Deno.utimeSync(`${path}/tmp/${name}`, time, time);
  }
  assert.equal((await prune(path, {}, { dryRun: true })).orphans, 2);
  assert.equal((await prune(path, { olderThan: 1e12 })).orphans, 2);
  assert.deepEqual(Array.from(Deno.readDirSync(`${path}/tmp`), ({ name }) => name).sort(), [
    "ahead",
    "directory",
    "young",
  ]);
});

Deno.test("what is known of an event's way goes with it, and so does what is left of events that have gone by hand", async () => {
  using directory = temporaryDirectory();
  const { path } = directory;
  const bus = new DirectoryBus(path);
  const ids: string[] = [];
  for (let i = 0; i < 4; i++) ids.push((await bus.publish("n", `${i}`, { via: ["0".repeat(32)] })).id);
  const ways = () => Array.from(Deno.readDirSync(`${path}/via`), ({ name }) => name).sort();
  assert.deepEqual(ways(), ids);
  await prune(path, { keep: 3 }, { dryRun: true });
  assert.deepEqual(ways(), ids);
  await prune(path, { keep: 3 });
  assert.deepEqual(ways(), ids.slice(1));
  for (const id of [ids[1], ids[2]]) Deno.removeSync(`${path}/events/${id}`);
  const old = new Date(Date.now() - 61 * 60_000);
  Deno.utimeSync(`${path}/via/${ids[1]}`, old, old);
  Deno.utimeSync(`${path}/via/${ids[3]}`, old, old);
  // The second might be about to be published.
  assert.deepEqual((await prune(path, { keep: 1 })).orphans, 0);
  assert.deepEqual(ways(), ids.slice(2));
});

Deno.test("what is no bus is not made one, and what cannot be done is said", async () => {
  using directory = temporaryDirectory();
  const { path } = directory;
  for (
    const [bus, reason] of [
      [`${path}/missing`, "there is no such directory"],
      [path, "it is no bus, since it has no events/"],
      [`${path}/file`, "it is not a directory"],
    ]
  ) {
    Deno.writeTextFileSync(`${path}/file`, "");
    await assert.rejects(prune(bus, { keep: 1 }), new BusError(`cannot prune ${bus}: ${reason}`));
  }
  assert.deepEqual(Array.from(Deno.readDirSync(path), ({ name }) => name), ["file"]);
  make(path, [nameAt(0), nameAt(1)]);
  Deno.writeTextFileSync(`${path}/pruned`, "garbage");
  await assert.rejects(prune(path, { keep: 1 }), /cannot prune .*: cannot read from .*\/pruned what has been removed/);
  assert.equal(namesIn(path).length, 2);
});

Deno.test("it can be ended early, and has told of what it has removed by then", async () => {
  using directory = temporaryDirectory();
  const names = Array.from({ length: 1000 }, (_, i) => nameAt(i));
  make(directory.path, names);
  const stop = new AbortController();
  const onProgress = ({ doing, done }: { doing: string; done: number }) => {
    if (doing === "removing" && done === 300) stop.abort();
  };
  const { events } = await prune(directory.path, { keep: 1 }, { signal: stop.signal, onProgress });
  assert.equal(events, 301);
  assert.deepEqual(namesIn(directory.path), names.slice(events));
  assert.deepEqual(JSON.parse(Deno.readTextFileSync(`${directory.path}/pruned`)), {
    format: "ollie pruned 1",
    going: [],
    gone: names.slice(0, events),
  });
});

// Giving up on a lock does not end the system's wait for it, which lasts until whoever has it lets go.
Deno.test({
  name: "of two at once, one does the work, and the other the same or nothing",
  sanitizeOps: false,
  fn: async () => {
    using directory = temporaryDirectory();
    const names = Array.from({ length: 2000 }, (_, i) => nameAt(i));
    make(directory.path, names);
    const runs = await Promise.allSettled(Array.from({ length: 4 }, () => prune(directory.path, { keep: 10 })));
    for (const run of runs) {
      if (run.status === "fulfilled") continue;
      assert.match(run.reason.message, /another process is using it/);
      assert(run.reason.cause instanceof Deno.errors.Busy);
    }
    assert(runs.some(({ status }) => status === "fulfilled"));
    assert.deepEqual(namesIn(directory.path), names.slice(-10));
    const { gone, going } = JSON.parse(Deno.readTextFileSync(`${directory.path}/pruned`));
    assert.deepEqual([gone.toSorted(), going], [names.slice(0, -10), []]);
  },
});

Deno.test("whoever is subscribed and keeps up gets every event, and is told of nothing", async () => {
  using directory = temporaryDirectory();
  make(directory.path, Array.from({ length: 2000 }, (_, i) => nameAt(i)));
  await using writer = new DirectoryBus(directory.path);
  await using reader = new DirectoryBus(directory.path);
  await using live = reader.subscribe("live");
  await live.ready;
  let isOver = false;
  const pruning = prune(directory.path, { keep: 50 }).finally(() => isOver = true);
  let sent = 0;
  while (!isOver) {
    await writer.publish("live", `${sent++}`);
    if (sent % 5 === 0) assert.deepEqual(await textsOf(live, 5), ["5", "4", "3", "2", "1"].map((n) => `${sent - +n}`));
  }
  assert((await within(pruning, "the end")).events >= 1950);
});
