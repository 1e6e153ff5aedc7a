/** `ollie prune`, `--retain`, and what `ollie sub` says of events that are gone. */
import assert from "node:assert/strict";
import { markOf } from "../../lib/bus/directory/order.ts";
import { DirectoryBus, GapError } from "../../mod.ts";
import { make, nameAt, namesIn } from "../bus/directory/bus_files.ts";
import { until, within } from "../deadline.ts";
import { exists, temporaryDirectory } from "../temporary.ts";
import { AS_OTHERS, has, OLLIE, ollie, OLLIE_IN_SHELL, Running, startListening } from "./ollie.ts";

const names = Array.from({ length: 10 }, (_, i) => nameAt(i));

Deno.test("it says in a line what it has removed, or would", async () => {
  using directory = temporaryDirectory();
  const { path } = directory;
  make(path, [...names, "2999-01-01T00:00:00,000000000+00:00_n"], "12345");
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await ollie(["prune", ...args, path]);
    assert.deepEqual([code, stderr], [0, ""]);
    return stdout;
  };
  const ahead = "; 1 event dated in the future stays";
  assert.equal(await run("--keep", "7", "--dry-run"), `would remove 3 events (15 bytes)${ahead}\n`);
  assert(!exists(`${path}/pruned`));
  assert.equal(await run("--keep", "7"), `removed 3 events (15 bytes)${ahead}\n`);
  assert.equal(await run("--max-bytes", "30"), `removed 1 event (5 bytes)${ahead}\n`);
  Deno.mkdirSync(`${path}/tmp`, { recursive: true });
  Deno.writeTextFileSync(`${path}/tmp/x`, "");
  Deno.utimeSync(`${path}/tmp/x`, 0, 0);
  assert.equal(await run("--older-than", "3650d"), `removed 0 events (0 bytes), and 1 file left in tmp/${ahead}\n`);
  assert.equal(
    await run("--older-than", "1s", "--keep", "2"),
    `removed 6 events (30 bytes)${ahead}\n`,
  );
});

Deno.test("what cannot be is refused, and nothing is made", async () => {
  using directory = temporaryDirectory();
  const { path } = directory;
  const mistakes: [code: number, args: string[], message: string][] = [
    [2, ["prune", path], "ollie prune: say what is to stay, with --older-than, --keep or --max-bytes"],
    [2, ["prune", "--keep", "1"], "ollie prune: say which directory to remove events from"],
    [2, ["prune", "--keep", "0", path], '--keep takes a whole number from 1, not "0"'],
    [2, ["prune", "--older-than", "soon", path], "--older-than takes a duration"],
    [2, ["prune", "--older-than", "30", path], "--older-than takes a duration with its unit, such as 12h, 7d or 365d"],
    [2, ["prune", "--max-bytes", "much", path], "--max-bytes takes a number of bytes"],
    [2, ["prune", "--keep", "1", "mem:"], "ollie prune: mem: is no directory"],
    [2, ["prune", "--keep", "1", "unix:/run/ollie"], "ollie prune: unix:/run/ollie is no directory"],
    [1, ["prune", "--keep", "1", path], `ollie prune: cannot prune ${path}: it is no bus, since it has no events/\n`],
    [1, ["prune", "--keep", "1", `${path}/x`], `ollie prune: cannot prune ${path}/x: there is no such directory\n`],
    [2, ["hub", "--retain", "keep=1"], "ollie hub: --retain is about a directory, which mem: is not"],
    [
      2,
      ["serve9p", "-l", "tcp:0", "--retain", "keep=1", "ws://x"],
      "--retain is about a directory, which ws://x is not",
    ],
    [2, ["hub", "--retain", "", path], "--retain takes limits such as older-than=7d,keep=100000,max-bytes=1G"],
    [2, ["hub", "--retain", "keep=1,keep=2", path], "--retain takes limits such as"],
    [2, ["hub", "--retain", "keep", path], "--retain takes limits such as"],
    [2, ["hub", "--retain", "older-than=x", path], "--retain older-than takes a duration"],
  ];
  await Promise.all(mistakes.map(async ([code, args, message]) => {
    const ended = await ollie(args);
    assert.deepEqual([ended.code, ended.stdout], [code, ""], args.join(" "));
    assert(ended.stderr.includes(message), `${ended.stderr} is not ${message}`);
    assert.match(ended.stderr, /^[^\n]+\n$/, "one line");
  }));
  assert.deepEqual([...Deno.readDirSync(path)], []);
});

Deno.test("a directory that may only be read: what would be removed is said, and nothing is", async () => {
  using directory = temporaryDirectory();
  const { path } = directory;
  make(path, names);
  Deno.chmodSync(`${path}/events`, 0o555);
  Deno.chmodSync(path, 0o555);
  const dry = await ollie(["prune", "--dry-run", "--keep", "4", path], { under: AS_OTHERS });
  assert.deepEqual([dry.code, dry.stdout], [0, `would remove 6 events (${6 * names[0].length} bytes)\n`]);
  const wet = await ollie(["prune", "--keep", "4", path], { under: AS_OTHERS });
  assert.deepEqual([wet.code, wet.stderr], [1, `ollie prune: cannot prune ${path}: permission denied\n`]);
  // What is told of as about to be removed is taken back when it cannot be.
  Deno.chmodSync(path, 0o755);
  const half = await ollie(["prune", "--keep", "4", path], { under: AS_OTHERS });
  assert.deepEqual([half.code, half.stderr], [1, `ollie prune: cannot prune ${path}: permission denied\n`]);
  assert.deepEqual(JSON.parse(Deno.readTextFileSync(`${path}/pruned`)).going, []);
  assert.deepEqual(namesIn(path), names);
  Deno.chmodSync(`${path}/events`, 0o755);
});

Deno.test("ollie sub with a cursor says once what it has missed, goes on, and ends with 1", async () => {
  using directory = temporaryDirectory();
  const { path } = directory;
  const sub = async (...args: string[]) => {
    const { code, stdout, stderr } = await ollie(["sub", "--cursor", `${path}/cursor`, ...args, `${path}/bus`]);
    return [code, stdout, stderr.replaceAll(`${path}/`, "")];
  };
  make(`${path}/bus`, names, "x");
  await ollie(["prune", "--keep", "9", `${path}/bus`]);
  // What had gone before it began is none of its business.
  assert.deepEqual(await sub("-c", "2"), [0, "xx", ""]);
  await ollie(["prune", "--keep", "7", `${path}/bus`]);
  assert.deepEqual(await sub("-c", "1"), [0, "x", ""], "it had read what has gone");
  await ollie(["prune", "--keep", "3", `${path}/bus`]);
  const gap = `ollie sub: bus: events after "${names[3]}" and up to "${names[6]}" were removed before they were read\n`;
  assert.deepEqual(await sub("-c", "1"), [1, "x", gap]);
  assert.deepEqual(await sub("-c", "1"), [0, "x", ""], "it is told once");
  // Killed after it was told, and before anything else has come.
  assert.deepEqual(await sub("-c", "1"), [0, "x", ""]);
  make(`${path}/bus`, [nameAt(20), nameAt(21)], "x");
  await ollie(["prune", "--keep", "1", `${path}/bus`]);
  Deno.removeSync(`${path}/bus/events/${nameAt(21)}`);
  const last = `ollie sub: bus: events after "${names[9]}" and up to "${
    nameAt(20)
  }" were removed before they were read\n`;
  {
    await using waiting = new Running([...OLLIE, "sub", "--cursor", `${path}/cursor`, `${path}/bus`]);
    assert.equal(`${await waiting.stderr.next()}\n`.replaceAll(`${path}/`, ""), last);
    await until("the note of it", () => Deno.readTextFileSync(`${path}/cursor`).includes(`"gone":"${nameAt(20)}"`));
  }
  assert.deepEqual(await sub("-W", "300ms"), [124, "", ""]);
});

Deno.test("a cursor of a topic that is rare is told of nothing, whatever else has gone", async () => {
  using directory = temporaryDirectory();
  const bus = `${directory.path}/bus`;
  make(bus, [nameAt(0, "rare"), ...Array.from({ length: 200 }, (_, i) => nameAt(10_000 + i, "often"))], "x");
  const sub = () => ollie(["sub", "-e", "rare", "--cursor", `${directory.path}/cursor`, bus]);
  assert.deepEqual((await sub()).stdout, "x");
  await ollie(["prune", "--keep", "1", bus]);
  make(bus, [nameAt(20_000, "rare")], "y");
  const { code, stdout, stderr } = await sub();
  assert.deepEqual([code, stdout, stderr], [0, "y", ""]);
});

for (const [subcommand, args] of [["hub", ["-l", "0"]], ["serve9p", ["-l", "tcp:0"]]] as const) {
  Deno.test(`ollie ${subcommand} --retain removes what is old at its start, and says nothing of it`, async () => {
    using directory = temporaryDirectory();
    const { path } = directory;
    make(path, names);
    const { running } = await startListening(subcommand, [...args, "--retain", "keep=3,max-bytes=1G", path]);
    await using _ = running;
    await until("the end of what is old", () => namesIn(path).length === 3);
    assert.deepEqual(namesIn(path), names.slice(-3));
    running.signal("SIGTERM");
    assert.equal((await within(running.status, "the end")).code, 0);
    assert.deepEqual(await running.stderr.rest(), []);
  });
}

Deno.test("where two servers remove from the same directory, neither complains of the other", async () => {
  using directory = temporaryDirectory();
  const { path } = directory;
  // So many that the one who comes second finds the other at it.
  make(path, Array.from({ length: 10_000 }, (_, i) => nameAt(i)), "x");
  const retain = ["--retain", "keep=1", path];
  const servers = await Promise.all([
    startListening("hub", ["-l", "0", ...retain]),
    startListening("serve9p", ["-l", "tcp:0", ...retain]),
  ]);
  await using stack = new AsyncDisposableStack();
  for (const { running } of servers) stack.use(running);
  await until("the end of what is old", () => namesIn(path).length === 1);
  for (const { running } of servers) {
    running.signal("SIGTERM");
    assert.equal((await within(running.status, "the end")).code, 0);
    assert.deepEqual(await running.stderr.rest(), []);
  }
});

Deno.test("an interrupted prune says what it has removed, and has told of it", async () => {
  using directory = temporaryDirectory();
  const { path } = directory;
  const many = Array.from({ length: 20_000 }, (_, i) => nameAt(i));
  make(path, many, "x");
  const child = new Deno.Command(OLLIE[0], { args: [...OLLIE.slice(1), "prune", "--keep", "1", path], stdout: "piped" })
    .spawn();
  await until("the first removal", () => namesIn(path).length < many.length);
  child.kill("SIGINT");
  const { code, stdout } = await within(child.output(), "the end");
  const [, said] = /^removed (\d+) events \(\1 bytes\)\n$/.exec(new TextDecoder().decode(stdout)) ?? [];
  const left = namesIn(path);
  assert.equal(left.length, many.length - Number(said));
  if (left.length > 1) assert.equal(code, 130);
  await using bus = new DirectoryBus(path);
  await using events = bus.subscribe("n", { from: { after: many[0] } });
  await assert.rejects(events.next(), new GapError(path, { after: many[0], until: markOf(many[Number(said) - 1]) }));
});

Deno.test({
  name: "on a terminal, what takes longer than a second shows how far it is, and leaves nothing behind",
  ignore: !has("script"),
  fn: async () => {
    using directory = temporaryDirectory();
    const { path } = directory;
    const onTerminal = async (command: string) => {
      const began = performance.now();
      const { stdout } = await new Deno.Command("script", {
        args: ["-qec", command, "/dev/null"],
        env: { TERM: "xterm" },
        stdin: "null",
      }).output();
      return { shown: new TextDecoder().decode(stdout), took: performance.now() - began };
    };
    make(path, names, "x");
    const quick = await onTerminal(`${OLLIE_IN_SHELL} prune --keep 9 ${path}`);
    assert.equal(quick.shown, "removed 1 event (1 byte)\r\n");
    // As many as take this machine long enough.
    for (let count = 30_000;; count *= 2) {
      make(path, Array.from({ length: count }, (_, i) => nameAt(1000 + i)), "x");
      const { shown, took } = await onTerminal(`${OLLIE_IN_SHELL} prune --keep 9 ${path}`);
      if (took < 2000) continue;
      const lines = shown.split("\r\x1b[K");
      assert(lines.some((line) => /^removing \[#*\.*\] \d+% [\d,]+ of [\d,]+$/.test(line)), shown);
      // What the terminal shows in the end is what follows the last that was cleared.
      assert.match(lines.at(-1) ?? "", /^removed \d+ events \(\d+ bytes\)\r\n$/);
      break;
    }
  },
});
