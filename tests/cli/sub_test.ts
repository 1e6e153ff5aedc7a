import assert from "node:assert/strict";
import { DirectoryBus } from "../../mod.ts";
import { temporaryDirectory } from "../temporary.ts";
import { OLLIE, ollie, Running, shell } from "./ollie.ts";

/** A bus with a few events in it, and their ids. */
async function busWith(
  path: string,
  events: [topic: string, payload: string][],
): Promise<{ bus: DirectoryBus; ids: string[] }> {
  const bus = new DirectoryBus(path);
  const ids = [];
  for (const [topic, payload] of events) ids.push((await bus.publish(topic, payload)).id);
  return { bus, ids };
}

const COLORS: [string, string][] = [["color", "red\n"], ["number", "one\n"], ["color.dark", "blue\n"], [
  "color",
  "green",
]];

Deno.test("it prints the first event, past or to come, and exits", async () => {
  using directory = temporaryDirectory();
  const { bus } = await busWith(directory.path, COLORS);
  assert.deepEqual((await ollie(["sub", directory.path])).stdout, "red\n");
  assert.deepEqual((await ollie(["sub", "-H", "-e", "number", directory.path])).stdout, "one\n");
  await using sub = await Running.sub("-n", directory.path);
  await bus.publish("color", "new\n");
  assert.equal(await sub.stdout.next(), "new");
  assert.equal((await sub.status).code, 0);
});

Deno.test("filters, counts, formats and ends", async () => {
  using directory = temporaryDirectory();
  const { ids } = await busWith(directory.path, COLORS);
  const print = async (...args: string[]) => (await ollie(["sub", ...args, directory.path])).stdout;
  assert.equal(await print("-c", "3"), "red\none\nblue\n");
  assert.equal(await print("-c", "2", "-e", "color"), "red\ngreen");
  assert.equal(await print("-c", "3", "-e", "color", "-e", "color.>"), "red\nblue\ngreen");
  assert.equal(await print("-c", "4", "-f", "text"), "color red\nnumber one\ncolor.dark blue\ncolor green\n");
  assert.equal(await print("-c", "2", "-0"), "red\n\0one\n\0");
  assert.equal(await print("-c", "2", "-0ftext"), "color red\0number one\0");
  const lines = (await print("-c", "2", "--format=json")).trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(({ id, topic, payload }) => [id, topic, payload]), [[ids[0], "color", "red\n"], [
    ids[1],
    "number",
    "one\n",
  ]]);
  assert.match(lines[0].time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
  assert.equal(await print("-c", "1", "--after", ids[1]), "blue\n");
});

Deno.test("--verbose prints the ids on standard error", async () => {
  using directory = temporaryDirectory();
  const { ids } = await busWith(directory.path, COLORS);
  const { stdout, stderr } = await ollie(["sub", "-v", "-c2", directory.path]);
  assert.equal(stdout, "red\none\n");
  assert.equal(stderr, `ollie sub: subscribed to ${directory.path}\n${ids[0]}\n${ids[1]}\n`);
});

Deno.test("when the time is up it exits 124, with what came by then", async () => {
  using directory = temporaryDirectory();
  await busWith(directory.path, COLORS);
  const { code, stdout, stderr } = await ollie(["sub", "-m", "-e", "color", "-W", "300ms", directory.path]);
  assert.deepEqual([code, stdout, stderr], [124, "red\ngreen", ""]);
  assert.equal((await ollie(["sub", "-n", "-W", ".1", directory.path])).code, 124);
  assert.equal((await ollie(["sub", "-c", "2", "-W", "1h", directory.path])).code, 0);
});

Deno.test("the time is up even if nobody reads what is printed", async () => {
  using directory = temporaryDirectory();
  await busWith(directory.path, Array.from({ length: 10 }, () => ["n", "x".repeat(100_000)]));
  const { stdout } = await shell(
    `mkfifo pipe; exec 3<>pipe; ollie sub -m -W 300ms "$BUS" >&3; echo "status $?"`,
    { env: { BUS: directory.path }, cwd: directory.path },
  );
  assert.equal(stdout, "status 124\n");
});

Deno.test("interrupted, it exits 130", async () => {
  using directory = temporaryDirectory();
  await using sub = await Running.sub("-m", directory.path);
  sub.signal("SIGINT");
  assert.equal((await sub.status).code, 130);
});

Deno.test("each event is written when it comes", async () => {
  using directory = temporaryDirectory();
  const { bus } = await busWith(directory.path, []);
  await using sub = await Running.sub("-m", "-f", "text", directory.path);
  for (let i = 0; i < 20; i++) {
    await bus.publish("n", `${i}`);
    assert.equal(await sub.stdout.next(), `n ${i}`);
  }
});

Deno.test("a backlog is written in larger pieces", async () => {
  using directory = temporaryDirectory();
  const { bus } = await busWith(directory.path, []);
  for (let i = 0; i < 3000; i++) await bus.publish("n", "x".repeat(99) + "\n");
  await bus.publish("last", "end\n");
  const trace = new Deno.Command("bash", {
    args: [
      "-c",
      `${OLLIE.map((word) => `'${word}'`).join(" ")} sub -m -c 3001 "$1" | dd bs=1M 2>&1 >/dev/null`,
      "-",
      directory.path,
    ],
  });
  // dd counts a record for each piece that it is given.
  const [, whole, parts] = /^(\d+)\+(\d+) records in/.exec(new TextDecoder().decode((await trace.output()).stdout)) ??
    [];
  const pieces = Number(whole) + Number(parts);
  assert(pieces < 150, `${pieces} pieces for 3001 events`);
});

Deno.test("it ends quietly when nobody reads any more", async () => {
  using directory = temporaryDirectory();
  await busWith(directory.path, Array.from({ length: 3000 }, (_, i) => ["n", `${i} ${"x".repeat(100)}\n`]));
  const { stdout, stderr } = await shell(`ollie sub -m "$BUS" | head -1; echo "\${PIPESTATUS[0]}"`, {
    env: { BUS: directory.path },
  });
  assert.deepEqual([stdout, stderr], [`0 ${"x".repeat(100)}\n0\n`, ""]);
  // The reader goes while it waits: the next event finds that out.
  const waiting = await shell(
    `(ollie sub -m -n -v "$BUS" 2>err; echo "status $?" >&2) | head -0 &
     until grep -q subscribed err 2>/dev/null; do sleep 0.01; done
     ollie pub -d x "$BUS"; wait; grep -v -e subscribed -e _event err`,
    { env: { BUS: directory.path }, cwd: directory.path },
  );
  assert.deepEqual([waiting.stdout, waiting.stderr], ["", "status 0\n"]);
});

Deno.test("a full output is reported", async () => {
  using directory = temporaryDirectory();
  await busWith(directory.path, COLORS);
  const { code, stderr } = await shell(`ollie sub -c 2 "$BUS" > /dev/full`, { env: { BUS: directory.path } });
  assert.deepEqual([code, stderr], [1, "ollie sub: cannot write to standard output: no space left on device\n"]);
});

Deno.test("an event that cannot be read is complained of and passed by, and the exit status says so", async () => {
  using directory = temporaryDirectory();
  await busWith(directory.path, COLORS.slice(0, 1));
  Deno.symlinkSync("/proc/self/mem", `${directory.path}/events/2001-01-01T00:00:00,000000000+00:00_n`);
  const { code, stdout, stderr } = await ollie(["sub", directory.path]);
  assert.deepEqual([code, stdout], [1, "red\n"]);
  assert.match(stderr, /^ollie sub: cannot read the event "2001-.*_n" in .*\n$/);
});

Deno.test("a cursor goes on where the last run ended", async () => {
  using directory = temporaryDirectory();
  const { bus } = await busWith(directory.path, COLORS);
  const cursor = `${directory.path}/cursor`;
  const next = async (...args: string[]) =>
    await ollie(["sub", "--cursor", cursor, "-W", "20s", ...args, directory.path]);
  assert.equal((await next()).stdout, "red\n");
  assert.equal((await next("-c2")).stdout, "one\nblue\n");
  assert.equal((await next()).stdout, "green");
  const nothing = await ollie(["sub", "-m", "--cursor", cursor, "-W", "200ms", directory.path]);
  assert.deepEqual([nothing.code, nothing.stdout], [124, ""]);
  await bus.publish("color", "white");
  assert.equal((await next()).stdout, "white");
});

Deno.test("a cursor that begins with --new or --after begins there, and misses nothing from then on", async () => {
  using directory = temporaryDirectory();
  const { bus, ids } = await busWith(directory.path, COLORS);
  const none = await ollie(["sub", "-m", "-n", "--cursor", `${directory.path}/new`, "-W", "200ms", directory.path]);
  assert.deepEqual([none.code, none.stdout], [124, ""]);
  await bus.publish("color", "white");
  const next = await ollie(["sub", "-n", "--cursor", `${directory.path}/new`, "-W", "20s", directory.path]);
  assert.equal(next.stdout, "white");
  const after = ["sub", "--cursor", `${directory.path}/after`, "--after", ids[1], directory.path];
  assert.equal((await ollie(after)).stdout, "blue\n");
  assert.equal((await ollie(after)).stdout, "green");
});

Deno.test("an event that is published late is found across a restart, within the window", async () => {
  using directory = temporaryDirectory();
  const bus = directory.path;
  const at = (second: string) => `2026-05-03T03:09:${second},000000000+00:00_n`;
  const moveIn = (name: string) => {
    Deno.writeTextFileSync(`${bus}/moving`, `${name}\n`);
    Deno.renameSync(`${bus}/moving`, `${bus}/events/${name}`);
  };
  Deno.mkdirSync(`${bus}/events`);
  for (const second of ["10", "20", "30"]) moveIn(at(second));
  const args = ["sub", "--cursor", `${bus}/cursor`, "--window", "15s", "-W", "300ms", "-m", bus];
  assert.equal((await ollie(args)).stdout, ["10", "20", "30"].map((second) => `${at(second)}\n`).join(""));
  moveIn(at("18"));
  moveIn(at("09"));
  moveIn(at("40"));
  // 18 lies within 15 seconds of the newest one seen, 09 does not.
  assert.equal((await ollie(args)).stdout, `${at("18")}\n${at("40")}\n`);
  assert.equal((await ollie(args)).stdout, "");
});

Deno.test("a cursor that begins with --new finds late events within the window, and nothing else of the past", async () => {
  using directory = temporaryDirectory();
  const bus = directory.path;
  const now = Date.now();
  const name = (seconds: number) => `${new Date(now + seconds * 1000).toISOString().slice(0, 19)},000000000+00:00_n`;
  const moveIn = (seconds: number) => {
    Deno.mkdirSync(`${bus}/events`, { recursive: true });
    Deno.writeTextFileSync(`${bus}/moving`, `${seconds}\n`);
    Deno.renameSync(`${bus}/moving`, `${bus}/events/${name(seconds)}`);
  };
  // The last one is from a clock that is a year ahead.
  for (const seconds of [-4000, -30, -10, 31_536_000]) moveIn(seconds);
  const args = ["sub", "-n", "--cursor", `${bus}/cursor`, "--window", "60s", "-W", "300ms", "-m", bus];
  assert.equal((await ollie(args)).stdout, "");
  for (const seconds of [-20, -5000, 0]) moveIn(seconds);
  assert.equal((await ollie(args)).stdout, "-20\n0\n");
  for (const seconds of [-25, 1]) moveIn(seconds);
  assert.equal((await ollie(args)).stdout, "-25\n1\n");
  assert.equal((await ollie(args)).stdout, "");
});

Deno.test("a cursor that begins with --new while events stream in misses none that come after the first it prints", async () => {
  using directory = temporaryDirectory();
  const { bus } = await busWith(directory.path, []);
  for (let i = 0; i < 3000; i++) await bus.publish("n", "old");
  let going = true;
  const publishing = (async () => {
    let i = 0;
    for (; going || i < 500; i++) {
      await bus.publish("new", `${i}\n`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return i;
  })();
  const args = ["--cursor", `${directory.path}/cursor`, directory.path];
  const first = Number((await ollie(["sub", "-n", ...args])).stdout);
  going = false;
  const count = await publishing;
  await bus.publish("new", "end\n");
  // What was published before the first one that was printed, and came to light after it, may come here besides.
  await using sub = await Running.sub("-m", ...args);
  const rest: string[] = [];
  for (let line; (line = await sub.stdout.next()) !== "end";) rest.push(String(line));
  assert.deepEqual(
    rest.map(Number).filter((i) => i >= first),
    Array.from({ length: count - first - 1 }, (_, i) => first + 1 + i),
  );
});

Deno.test("a damaged cursor is reported, and nothing is printed", async () => {
  using directory = temporaryDirectory();
  await busWith(directory.path, COLORS);
  const cursor = `${directory.path}/cursor`;
  await ollie(["sub", "--cursor", cursor, directory.path]);
  Deno.writeTextFileSync(cursor, Deno.readTextFileSync(cursor).replace("_color", "_cobor"));
  const { code, stdout, stderr } = await ollie(["sub", "--cursor", cursor, directory.path]);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(
    stderr,
    /^ollie sub: cannot use the cursor .*: it is damaged: line 3 is not what was written there.*\n$/,
  );
});

Deno.test("events/ may be removed and made again under it", async () => {
  using directory = temporaryDirectory();
  const { bus } = await busWith(directory.path, COLORS.slice(0, 1));
  await using sub = await Running.sub("-m", directory.path);
  assert.equal(await sub.stdout.next(), "red");
  for (const payload of ["one\n", "two\n"]) {
    Deno.removeSync(`${directory.path}/events`, { recursive: true });
    await bus.publish("n", payload);
    assert.equal(await sub.stdout.next(), payload.trim());
  }
});

Deno.test("a * that is no pattern is warned of, and matches itself", async () => {
  using directory = temporaryDirectory();
  const { bus } = await busWith(directory.path, COLORS);
  await bus.publish("color*", "itself\n");
  assert.deepEqual(
    await ollie(["sub", "-e", "color*", directory.path]).then(({ code, stdout, stderr }) => [code, stdout, stderr]),
    [
      0,
      "itself\n",
      'ollie sub: in the filter "color*", * stands only for itself: it is a pattern as a whole segment, or after a colon\n',
    ],
  );
  for (const filter of ["*", "color", "*.a", "a.*.b", "name:*", "name:*.>"]) {
    assert.equal((await ollie(["sub", "-W", "0", "-n", "-e", filter, directory.path])).stderr, "", filter);
  }
});
