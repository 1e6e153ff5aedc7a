/** Nothing is lost and nothing comes twice: under load, kills and stops. */
import assert from "node:assert/strict";
import { openPublisher } from "../../lib/cli/open.ts";
import { DirectoryBus } from "../../mod.ts";
import { until } from "../deadline.ts";
import { temporaryDirectory } from "../temporary.ts";
import { OLLIE, Running } from "./ollie.ts";

function filesIn(path: string): string[] {
  return Array.from(Deno.readDirSync(path), ({ name }) => name);
}

/** Long enough that a part of it would be noticed. */
const FILLING = "x".repeat(500);

/**
 * A writer: publishes its lines with `ollie pub --lines -v` and tells the ids of those that were reported as published. When it
 * is killed, it starts again with the lines that were not.
 *
 * @param kills how many lines each process may report before it is killed; the last one lives
 */
async function writeLines(bus: string, topic: string, lines: string[], kills: number[] = []): Promise<string[]> {
  const reported: string[] = [];
  while (reported.length < lines.length) {
    await using pub = new Running([...OLLIE, "pub", "-lv", bus, topic]);
    const kill = kills.pop();
    const written = pub.write(lines.slice(reported.length).map((line) => `${line}\n`).join("")).then(() =>
      pub.closeInput()
    );
    // Whether it took all is known by what it reports.
    written.catch(() => {});
    for (let i = 0, id; i !== kill && (id = await pub.stdout.next()) !== undefined; i++) reported.push(id);
    pub.signal("SIGKILL");
    reported.push(...await pub.stdout.rest());
  }
  return reported;
}

Deno.test("8 writers at once, one of them killed again and again: what was reported as published is delivered once", async () => {
  using directory = temporaryDirectory();
  const bus = directory.path;
  await using sub = await Running.sub("-m", "-f", "json", bus);
  const writers = Array.from({ length: 8 }, (_, writer) => {
    const lines = Array.from({ length: 2000 }, (_, i) => `${writer} ${i} ${FILLING}`);
    const kills = writer === 0 ? Array.from({ length: 12 }, () => Math.floor(Math.random() * 300)) : [];
    return writeLines(bus, writer % 2 === 0 ? "even" : "odd", lines, kills);
  });
  const delivered = new Set<string>();
  const reading = (async () => {
    for (let line; (line = await sub.stdout.next()) !== undefined;) {
      const { id, payload, topic } = JSON.parse(line);
      assert(!delivered.has(id), `${id} was delivered twice`);
      delivered.add(id);
      assert.match(payload, /^[0-7] \d+ x{500}$/);
      assert.equal(topic, Number(payload[0]) % 2 === 0 ? "even" : "odd");
    }
  })();
  const reported = (await Promise.all(writers)).flat();
  assert.equal(reported.length, 16_000);
  assert.equal(new Set(reported).size, 16_000);
  const files = filesIn(`${bus}/events`);
  await until("the delivery of all", () => delivered.size >= files.length);
  sub.signal("SIGTERM");
  await reading;
  assert.deepEqual(reported.filter((id) => !delivered.has(id)), []);
  assert.deepEqual([...delivered].sort(), files.sort());
  for (const name of files) assert.equal(Deno.readTextFileSync(`${bus}/events/${name}`).match(/x*$/)?.[0], FILLING);
  const orphans = filesIn(`${bus}/tmp`);
  assert(orphans.length <= 12, `${orphans.length} orphans of 12 kills`);
});

Deno.test({
  name:
    "a subscriber that is stopped while 40,000 events are published delivers all of them, once, in order, in little memory",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    using directory = temporaryDirectory();
    await using sub = await Running.sub("-m", "-f", "text", directory.path);
    await using publisher = await openPublisher(directory.path);
    await publisher.publish("n", "first");
    assert.equal(await sub.stdout.next(), "n first");
    sub.signal("SIGSTOP");
    const count = 40_000;
    for (let i = 0; i < count; i++) await publisher.publish("n", `${i}`);
    sub.signal("SIGCONT");
    for (let i = 0; i < count; i++) assert.equal(await sub.stdout.next(), `n ${i}`);
    await publisher.publish("n", "last");
    assert.equal(await sub.stdout.next(), "n last");
    assert(sub.peakMemory < 200_000_000, `${sub.peakMemory} bytes`);
  },
});

Deno.test("a subscriber with a cursor, killed 50 times in a stream of 5,000 events, misses none and repeats one a kill at most", async () => {
  using directory = temporaryDirectory();
  const bus = new DirectoryBus(directory.path);
  const count = 5000;
  const kills = 50;
  const publishing = (async () => {
    for (let i = 0; i < count; i++) {
      await bus.publish("n", `${i}`);
      if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    }
  })();
  const ids: string[] = [];
  const seen = new Set<string>();
  let repeated = 0;
  for (let run = 0; seen.size < count; run++) {
    await using sub = new Running([
      ...OLLIE,
      "sub",
      "-m",
      "-v",
      "-f",
      "json",
      "--cursor",
      `${directory.path}/cursor`,
      directory.path,
    ]);
    const most = run < kills ? Math.floor(Math.random() * 2 * count / kills) : Infinity;
    const got: string[] = [];
    while (got.length < most && seen.size + got.length < count) {
      const line = await sub.stdout.next();
      if (line === undefined) break;
      got.push(JSON.parse(line).id);
    }
    sub.signal("SIGKILL");
    got.push(...(await sub.stdout.rest()).map((line) => JSON.parse(line).id));
    const again = got.filter((id) => seen.has(id));
    // One at most, and it is the one that was in flight when the last process was killed.
    assert(again.length <= 1, `${again.length} events again after kill ${run}`);
    if (again.length === 1) assert.deepEqual([got[0], ids.at(-1)], [again[0], again[0]]);
    assert.equal(new Set(got).size, got.length, "no run delivers an event twice");
    const verbose = (await sub.stderr.rest()).filter((line) => !line.startsWith("ollie sub:"));
    assert.deepEqual(verbose.slice(0, got.length), got, "the ids on standard error are those of what was delivered");
    repeated += again.length;
    ids.push(...got);
    for (const id of got) seen.add(id);
  }
  await publishing;
  assert.deepEqual([...seen].sort(), filesIn(`${directory.path}/events`).sort());
  assert(repeated <= kills, `${repeated} events again in ${kills} kills`);
  assert.equal(ids.length, count + repeated);
});
