import assert from "node:assert/strict";
import { BusError, type Position } from "../../mod.ts";
import { Cursor } from "../../lib/cli/cursor.ts";
import type { BusEvent } from "../../lib/event.ts";
import { formatTime } from "../../lib/time.ts";
import { temporaryDirectory } from "../temporary.ts";

/** An event so many milliseconds after some moment. */
function event(milliseconds: number, name = ""): BusEvent {
  const time = formatTime(1_777_777_777_000_000_000n + BigInt(milliseconds) * 1_000_000n);
  return { id: `${time}_${name}`, time, topic: "n", payload: new Uint8Array() };
}

/** The start of a bus. */
const START: Position = { after: undefined, seen: [] };

/** The place after an event. */
function at(id: string, milliseconds: number): Position {
  return { after: { id, time: event(milliseconds).time }, seen: [] };
}

/** Opens a cursor with the usual window. */
function open(path: string, window = 5000): Promise<Cursor> {
  return Cursor.open(path, window);
}

/** Whether there was a file. */
function exists(cursor: Cursor): boolean {
  return cursor.position !== undefined;
}

/** The id up to which all is done with. */
function afterOf(cursor: Cursor): string | undefined {
  return cursor.position?.after?.id;
}

/** Whether an event after that is done with, too. */
function has(cursor: Cursor, id: string): boolean {
  return cursor.position?.seen.some((mark) => mark.id === id) === true;
}

Deno.test("what was recorded is known the next time", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/cursor`;
  {
    using cursor = await open(path);
    assert(!exists(cursor));
    cursor.create(at("start", 0));
    for (const at of [0, 10, 20]) cursor.record(event(at));
  }
  using cursor = await open(path);
  assert(exists(cursor));
  assert.equal(afterOf(cursor), "start");
  for (const at of [0, 10, 20]) assert(has(cursor, event(at).id));
  assert(!has(cursor, event(30).id));
});

Deno.test("a cursor that begins at the start stays there until there is something to begin after", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/cursor`;
  {
    using cursor = await open(path);
    cursor.create(START);
  }
  {
    using cursor = await open(path);
    assert(exists(cursor));
    assert.equal(afterOf(cursor), undefined);
    for (const at of [0, 1, 6000]) cursor.record(event(at));
  }
  using cursor = await open(path);
  // The window has left the first two behind; the last of them is where to go on.
  assert.equal(afterOf(cursor), event(1).id);
  assert(!has(cursor, event(0).id) && has(cursor, event(6000).id));
});

Deno.test("a late event is remembered as long as the window reaches, and never takes the cursor back", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/cursor`;
  {
    using cursor = await open(path);
    cursor.create(START);
    for (const at of [0, 10_000, 20_000, 16_000, 1000]) cursor.record(event(at));
  }
  {
    using cursor = await open(path);
    assert.equal(afterOf(cursor), event(10_000).id);
    assert(has(cursor, event(16_000).id));
    cursor.record(event(500));
  }
  using cursor = await open(path);
  assert.equal(afterOf(cursor), event(10_000).id);
});

Deno.test("a late event never takes a cursor back to before where it began", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/cursor`;
  {
    using cursor = await open(path);
    cursor.create({ after: { id: "old", time: event(20_000).time }, seen: [event(22_000)] });
    for (const at of [5000, 60_000]) cursor.record(event(at));
  }
  using cursor = await open(path);
  assert.equal(afterOf(cursor), event(22_000).id);
  assert(has(cursor, event(60_000).id));
});

Deno.test("an event from a clock that is ahead does not take the window with it", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/cursor`;
  const now = Date.now() - 1_777_777_777_000;
  const year = 366 * 86_400_000;
  {
    using cursor = await open(path);
    cursor.create(START);
    for (const at of [now - 60_000, now - 1000, now + year]) cursor.record(event(at));
  }
  using cursor = await open(path);
  assert.equal(afterOf(cursor), event(now - 60_000).id);
  assert(has(cursor, event(now - 1000).id) && has(cursor, event(now + year).id));
});

Deno.test("of two processes that begin with the same cursor, one is told", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/cursor`;
  using one = await open(path);
  using other = await open(path);
  one.create(START);
  assert.throws(() => other.create(START), /another process is using it/);
  assert.deepEqual(Array.from(Deno.readDirSync(directory.path), ({ name }) => name), ["cursor"]);
});

Deno.test("it does not grow with what it has recorded, but with what the window holds", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/cursor`;
  {
    using cursor = await open(path, 100);
    cursor.create(START);
    for (let at = 0; at < 20_000; at++) {
      cursor.record(event(at));
      if (at % 1000 === 0) assert(Deno.statSync(path).size < 300_000, `${Deno.statSync(path).size} bytes`);
    }
  }
  using cursor = await open(path, 100);
  assert.equal(afterOf(cursor), event(19_898).id);
  for (let at = 19_899; at < 20_000; at++) assert(has(cursor, event(at).id));
});

Deno.test("ids may hold anything", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/cursor`;
  const strange = ["two words", "line\nbreak", '"quoted"', "\u2028", "日本"];
  {
    using cursor = await open(path);
    cursor.create(at("\n", 0));
    for (const name of strange) cursor.record(event(0, name));
  }
  using cursor = await open(path);
  assert.equal(afterOf(cursor), "\n");
  for (const name of strange) assert(has(cursor, event(0, name).id));
});

Deno.test("a line cut by a kill does not count, and any other damage is reported", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/cursor`;
  {
    using cursor = await open(path);
    cursor.create(at("start", 0));
    for (const at of [0, 10, 20]) cursor.record(event(at));
  }
  const good = Deno.readTextFileSync(path);
  Deno.writeTextFileSync(path, good.slice(0, -5));
  {
    using cursor = await open(path);
    assert(has(cursor, event(10).id) && !has(cursor, event(20).id));
  }

  const lines = good.split("\n");
  const damaged: [text: string, what: RegExp][] = [
    ["", /it does not begin with "ollie cursor 1"/],
    ["garbage\n", /does not begin/],
    ["2026-05-03T03:09:37,123456789+00:00_n\n", /does not begin/],
    ["ollie cursor 2\n", /does not begin/],
    ["ollie cursor 1\n", /it ends after its first line/],
    ["ollie cursor 1\nx\n", /line 2 is not what was written there/],
    [good.replace("777777", "777778").replace("03:09:37", "03:09:38"), /line 2 is not what was written there/],
    [lines.toSpliced(3, 1).join("\n"), /line 4 is not/],
    [lines.toSpliced(1, 1).join("\n"), /line 2 is not/],
    [lines.toSpliced(3, 0, lines[3]).join("\n"), /line 5 is not/],
    [good.replace("\n", "\r\n"), /does not begin/],
    ["\0".repeat(good.length), /does not begin/],
    [good.slice(0, -20) + "\0".repeat(20), /its end is not what was written there/],
    [good + "garbage that was never a cursor", /its end is not/],
    [good.slice(0, 130) + "\0\0\0", /its end is not/],
  ];
  for (const [text, what] of damaged) {
    Deno.writeTextFileSync(path, text);
    await assert.rejects(Cursor.open(path, 5000), (error) => {
      assert(error instanceof BusError);
      assert(error.message.startsWith(`cannot use the cursor ${path}: it is damaged: `), error.message);
      assert.match(error.message, what);
      return true;
    });
    assert.equal(Deno.readTextFileSync(path), text, "a damaged file is left as it is");
  }
});

Deno.test("every single changed byte is noticed", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/cursor`;
  {
    using cursor = await open(path);
    cursor.create(at("start", 0));
    for (const at of [0, 10]) cursor.record(event(at));
  }
  const good = Deno.readFileSync(path);
  for (let at = 0; at < good.length - 1; at++) {
    const bad = good.slice();
    bad[at] ^= 1;
    Deno.writeFileSync(path, bad);
    await assert.rejects(Cursor.open(path, 5000), /is damaged/, `byte ${at}`);
  }
});

// Giving up on a lock does not end the system's wait for it, which lasts until whoever has it lets go.
Deno.test({
  name: "a cursor that is in use, or cannot be written, is reported",
  sanitizeOps: false,
  async fn() {
    using directory = temporaryDirectory();
    const path = `${directory.path}/cursor`;
    {
      using cursor = await open(`${directory.path}/missing/cursor`);
      assert.throws(() => cursor.create(START), /cannot use the cursor .*missing\/cursor: no such file or directory/);
    }
    await assert.rejects(Cursor.open(directory.path, 5000), /cannot use the cursor .*: it is not a file/);
    const wait = `
    import { Cursor } from ${JSON.stringify(new URL("../../lib/cli/cursor.ts", import.meta.url).href)};
    const cursor = await Cursor.open(Deno.args[0], 5000);
    if (cursor.position === undefined) cursor.create({ after: undefined, seen: [] });
    console.log("open");
    await Deno.stdin.read(new Uint8Array(1));`;
    const file = `${directory.path}/holder.ts`;
    Deno.writeTextFileSync(file, wait);
    const holder = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", file, path],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const reader = holder.stdout.getReader();
    await reader.read();
    await assert.rejects(Cursor.open(path, 5000), /another process is using it/);
    await holder.stdin.close();
    await reader.cancel();
    await holder.status;
    using cursor = await open(path);
    assert(exists(cursor));
  },
});
