import assert from "node:assert/strict";
import { BusError, DirectoryBus, FilterError, TopicError, UnreadableEventError } from "../../mod.ts";
import { within } from "../deadline.ts";
import { exists, temporaryDirectory } from "../temporary.ts";
import { payloadsOf, take, textsOf } from "./reading.ts";

/** The names of the files in a directory, in order. */
function filesIn(path: string): string[] {
  return Array.from(Deno.readDirSync(path), ({ name }) => name).sort();
}

/** Publishes as a script does, under any name. */
function moveIn(bus: string, name: string, payload = name): void {
  Deno.mkdirSync(`${bus}/events`, { recursive: true });
  Deno.writeTextFileSync(`${bus}/moving`, payload);
  Deno.renameSync(`${bus}/moving`, `${bus}/events/${name}`);
}

Deno.test("an event is a file, named by its time and topic, with the payload to the byte", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/made/as/needed`;
  let now = 1_777_777_777_123_456_789n;
  await using bus = new DirectoryBus(path, { clock: () => now++ });
  assert.deepEqual(await bus.publish("a/b", Uint8Array.of(0, 255, 10)), {
    id: "2026-05-03T03:09:37,123456789+00:00_a%2Fb",
    time: "2026-05-03T03:09:37.123456789Z",
  });
  await bus.publish("color", "réd");
  await bus.publish("empty", "");
  assert.deepEqual(filesIn(`${path}/events`), [
    "2026-05-03T03:09:37,123456789+00:00_a%2Fb",
    "2026-05-03T03:09:37,123456790+00:00_color",
    "2026-05-03T03:09:37,123456791+00:00_empty",
  ]);
  assert.deepEqual(filesIn(`${path}/tmp`), []);

  const events = await take(bus.subscribe(">", { from: "start" }), 3);
  assert.deepEqual(events.map(({ topic }) => topic), ["a/b", "color", "empty"]);
  assert.deepEqual(events[0], {
    id: "2026-05-03T03:09:37,123456789+00:00_a%2Fb",
    time: "2026-05-03T03:09:37.123456789Z",
    topic: "a/b",
    payload: Uint8Array.of(0, 255, 10),
  });
  assert.deepEqual(payloadsOf(events.slice(1)), ["réd", ""]);
});

Deno.test("the past comes first, in order, then what follows; from now, only what follows; after an id, what comes after it", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  const ids: string[] = [];
  for (const payload of ["1", "2", "3"]) ids.push((await bus.publish("n", payload)).id);
  const [start, now, after] = [
    bus.subscribe(">", { from: "start" }),
    bus.subscribe(">"),
    bus.subscribe(["n", "n.*"], { from: { after: ids[1] } }),
  ];
  const positions = await Promise.all([start.ready, now.ready, after.ready]);
  assert.deepEqual(positions.map((position) => position?.after?.id), [undefined, undefined, ids[1]]);
  assert.deepEqual([positions[0], positions[1]], [{ after: undefined, seen: [] }, undefined]);
  await bus.publish("n", "4");
  assert.deepEqual(await textsOf(start, 4), ["1", "2", "3", "4"]);
  assert.deepEqual(await textsOf(now, 1), ["4"]);
  assert.deepEqual(await textsOf(after, 2), ["3", "4"]);
  const late = bus.subscribe(">", { from: "start" });
  assert.deepEqual(await textsOf(late, 4), ["1", "2", "3", "4"]);
});

Deno.test("from now, with a window: where the subscription begins, with what was there before named one by one", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  const old = ["2001-01-01T00:00:00,000000000+00:00_n", "2001-01-01T00:00:01,000000000+00:00_n"];
  const ahead = "2999-01-01T00:00:00,000000000+00:00_n";
  for (const name of [old[1], ahead, old[0]]) moveIn(directory.path, name);
  const recent = (await bus.publish("n", "")).id;
  await using events = bus.subscribe(">", { window: 60_000 });
  const position = await events.ready;
  assert.equal(position?.after?.id, old[1]);
  assert.equal(position?.after?.time, "2001-01-01T00:00:01.000000000Z");
  assert.deepEqual(position?.seen.map(({ id }) => id).sort(), [recent, ahead].sort());
});

Deno.test("what another bus object publishes arrives, too", async () => {
  using directory = temporaryDirectory();
  await using here = new DirectoryBus(directory.path);
  await using there = new DirectoryBus(directory.path);
  const events = here.subscribe("color");
  await events.ready;
  await there.publish("number", "one");
  await there.publish("color", "red");
  assert.deepEqual(await textsOf(events, 1), ["red"]);
});

Deno.test("an event whose time lies before that of others is delivered when it arrives", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  const events = bus.subscribe(">", { from: "start" });
  await bus.publish("n", "new");
  assert.deepEqual(await textsOf(events, 1), ["new"]);
  moveIn(directory.path, "2001-01-01T00:00:00,000000000+00:00_n", "old");
  assert.deepEqual(await textsOf(events, 1), ["old"]);
  moveIn(directory.path, "2001-01-01T00:00:00,000000001+00:00_n", "old, too");
  await bus.publish("n", "newer");
  assert.deepEqual((await textsOf(events, 2)).sort(), ["newer", "old, too"]);
});

Deno.test("two writers whose clocks say the same nanosecond lose nothing", async () => {
  using directory = temporaryDirectory();
  const clock = () => 1_777_777_777_123_456_789n;
  const writers = ["a", "b"].map((name) => ({ name, bus: new DirectoryBus(directory.path, { clock }) }));
  for (let i = 0; i < 100; i++) for (const { name, bus } of writers) await bus.publish("n", `${name}${i}`);
  await using events = writers[0].bus.subscribe(">", { from: "start" });
  const texts = await textsOf(events, 200);
  assert.equal(new Set(texts).size, 200);
  assert.equal(filesIn(`${directory.path}/events`).at(-1), "2026-05-03T03:09:37,123456988+00:00_n");
});

Deno.test("two processes whose clocks say the same nanosecond lose nothing", async () => {
  using directory = temporaryDirectory();
  const program = `
    import { DirectoryBus } from ${JSON.stringify(new URL("../../mod.ts", import.meta.url).href)};
    const [path, name] = Deno.args;
    const bus = new DirectoryBus(path, { clock: () => 1_777_777_777_123_456_789n });
    for (let i = 0; i < 1000; i++) await bus.publish("n", name + i);`;
  const file = `${directory.path}/writer.ts`;
  Deno.writeTextFileSync(file, program);
  const writers = ["a", "b"].map((name) =>
    new Deno.Command(Deno.execPath(), { args: ["run", "-A", "--no-check", file, directory.path, name] }).output()
  );
  for (const { success, stderr } of await within(Promise.all(writers), "the writers")) {
    assert(success, new TextDecoder().decode(stderr));
  }
  await using bus = new DirectoryBus(directory.path);
  const texts = await textsOf(bus.subscribe(">", { from: "start" }), 2000);
  assert.equal(new Set(texts).size, 2000);
});

Deno.test("a name that another writer holds is left to it", async () => {
  using directory = temporaryDirectory();
  Deno.mkdirSync(`${directory.path}/tmp`);
  const held = `${directory.path}/tmp/2026-05-03T03:09:37,123456789+00:00_n`;
  Deno.writeTextFileSync(held, "half wri");
  await using bus = new DirectoryBus(directory.path, { clock: () => 1_777_777_777_123_456_789n });
  assert.equal((await bus.publish("n", "mine")).id, "2026-05-03T03:09:37,123456790+00:00_n");
  assert.equal(Deno.readTextFileSync(held), "half wri");
  Deno.removeSync(held);
  // Its event is published by now, and must not be overwritten.
  moveIn(directory.path, "2026-05-03T03:09:37,123456791+00:00_n", "theirs");
  assert.equal((await bus.publish("n", "mine, too")).id, "2026-05-03T03:09:37,123456792+00:00_n");
  assert.deepEqual(await textsOf(bus.subscribe("n", { from: "start" }), 3), ["mine", "theirs", "mine, too"]);
  assert.deepEqual(filesIn(`${directory.path}/tmp`), []);
});

Deno.test("files that are not events are ignored, whatever they are", async () => {
  using directory = temporaryDirectory();
  const events = `${directory.path}/events`;
  const at = "2026-05-03T03:09:37,123456789+00:00";
  moveIn(directory.path, "README");
  Deno.mkdirSync(`${events}/${at}_directory`);
  Deno.symlinkSync("/nowhere", `${events}/${at}_dangling`);
  Deno.symlinkSync("/", `${events}/${at}_link`);
  Deno.symlinkSync(`${events}/${at}_loop`, `${events}/${at}_loop`);
  new Deno.Command("mkfifo", { args: [`${events}/${at}_pipe`] }).outputSync();
  new Deno.Command("bash", { args: ["-c", `touch "$1"/${at}_$'\\xff\\xfe'`, "-", events] }).outputSync();
  moveIn(directory.path, `${at}_z`, "an event");
  await using bus = new DirectoryBus(directory.path);
  const all = bus.subscribe(">", { from: "start" });
  await assert.rejects(all.next(), UnreadableEventError);
  assert.deepEqual(await textsOf(all, 1), ["an event"]);
  moveIn(directory.path, "2026-05-03T03:09:37.123456789+99:00_not");
  Deno.mkdirSync(`${directory.path}/${at}_moved`);
  Deno.renameSync(`${directory.path}/${at}_moved`, `${events}/${at}_moved`);
  moveIn(directory.path, `${at}_zz`, "another");
  assert.deepEqual(await textsOf(all, 1), ["another"]);
});

Deno.test("a name whose topic breaks a rule is delivered, matched by > and by its exact text", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  const topics = ["two words", "__x", "a%", "line\nbreak", "", "x".repeat(219)];
  const subscriptions = topics.map((topic) => bus.subscribe(topic === "" ? "*" : topic, { from: "start" }));
  const all = bus.subscribe(">", { from: "start" });
  await all.ready;
  topics.forEach((topic, i) => moveIn(directory.path, `2026-05-03T03:09:3${i},123456789+00:00_${topic}`, `${i}`));
  const got = await take(all, topics.length);
  assert.deepEqual(got.map(({ topic }) => topic).sort(), [...topics].sort());
  for (const [i, subscription] of subscriptions.entries()) {
    if (topics[i] !== "") assert.equal((await subscription.next()).value?.topic, topics[i]);
  }
});

Deno.test("an event that cannot be read is reported, and the next one comes", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  const at = "2026-05-03T03:09:37,123456789+00:00";
  Deno.mkdirSync(`${directory.path}/events`);
  Deno.symlinkSync("/proc/self/mem", `${directory.path}/events/${at}_a`);
  moveIn(directory.path, `${at}_b`, "readable");
  const events = bus.subscribe(">", { from: "start" });
  await assert.rejects(
    events.next(),
    (error) => error instanceof UnreadableEventError && error.message.includes(`${at}_a`),
  );
  assert.deepEqual(await textsOf(events, 1), ["readable"]);
});

Deno.test("events that go before they are read are passed by", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  const ids: string[] = [];
  for (let i = 0; i < 10; i++) ids.push((await bus.publish("n", `${i}`)).id);
  const events = bus.subscribe(">", { from: "start" });
  await events.ready;
  for (const id of ids.slice(0, 5)) Deno.removeSync(`${directory.path}/events/${id}`);
  assert.deepEqual(await textsOf(events, 5), ["5", "6", "7", "8", "9"]);
});

Deno.test("events/ may be removed and made again, or replaced", async () => {
  using directory = temporaryDirectory();
  await using writer = new DirectoryBus(directory.path);
  await using reader = new DirectoryBus(directory.path);
  await writer.publish("n", "1");
  const events = reader.subscribe(">", { from: "start" });
  assert.deepEqual(await textsOf(events, 1), ["1"]);
  Deno.removeSync(`${directory.path}/events`, { recursive: true });
  await writer.publish("n", "2");
  assert.deepEqual(await textsOf(events, 1), ["2"]);
  Deno.renameSync(`${directory.path}/events`, `${directory.path}/old`);
  Deno.mkdirSync(`${directory.path}/events`);
  await writer.publish("n", "3");
  assert.deepEqual(await textsOf(events, 1), ["3"]);
  Deno.removeSync(`${directory.path}/events`, { recursive: true });
  Deno.removeSync(`${directory.path}/tmp`, { recursive: true });
  const next = events.next();
  await writer.publish("n", "4");
  assert.deepEqual(payloadsOf([(await within(next, "event 4")).value]), ["4"]);
});

Deno.test("a directory made anew under its old name is watched, not only looked at now and then", async () => {
  using directory = temporaryDirectory();
  await using writer = new DirectoryBus(directory.path);
  await using reader = new DirectoryBus(directory.path);
  const events = reader.subscribe("n");
  await events.ready;
  // Some file systems give it the inode of the one that has gone.
  Deno.removeSync(`${directory.path}/events`, { recursive: true });
  Deno.mkdirSync(`${directory.path}/events`);
  await writer.publish("n", "first");
  assert.deepEqual(await textsOf(events, 1), ["first"]);
  // Without a watch, each of them would wait for a look, of which there is one a second.
  const began = performance.now();
  for (let i = 0; i < 20; i++) {
    await writer.publish("n", `${i}`);
    assert.deepEqual(await textsOf(events, 1), [`${i}`]);
  }
  const looks = (performance.now() - began) / 1000;
  assert(looks < 10, `20 events took as long as ${looks} looks at the directory`);
});

Deno.test("a directory that is moved away and back delivers nothing twice", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  for (const payload of ["1", "2"]) await bus.publish("n", payload);
  const events = bus.subscribe("n", { from: "start" });
  assert.deepEqual(await textsOf(events, 2), ["1", "2"]);
  Deno.renameSync(`${directory.path}/events`, `${directory.path}/away`);
  await bus.subscribe("n", { from: "start" }).ready;
  Deno.renameSync(`${directory.path}/away`, `${directory.path}/events`);
  await bus.publish("n", "3");
  assert.deepEqual(await textsOf(events, 1), ["3"]);
});

Deno.test("a subscription that ends while it lists leaves nothing to the next one", async () => {
  using directory = temporaryDirectory();
  await using writer = new DirectoryBus(directory.path);
  await using bus = new DirectoryBus(directory.path);
  for (let i = 0; i < 2000; i++) await writer.publish("n", "old");
  for (let round = 0; round < 10; round++) {
    const first = bus.subscribe("n");
    if (round % 2 === 0) await first.ready;
    let last = "";
    for (let i = 0; i < 100; i++) last = (await writer.publish("n", "past")).id;
    await new Promise((resolve) => setTimeout(resolve, round));
    await first.return();
    await using next = bus.subscribe("n", { from: { after: last } });
    await next.ready;
    await writer.publish("n", `new ${round}`);
    assert.deepEqual(await textsOf(next, 1), [`new ${round}`]);
  }
});

Deno.test("a burst comes in the order in which it was published, and whole", async () => {
  using directory = temporaryDirectory();
  await using writer = new DirectoryBus(directory.path);
  await using reader = new DirectoryBus(directory.path);
  const events = reader.subscribe("n");
  await events.ready;
  const count = 5000;
  const sent = Array.from({ length: count }, (_, i) => `${i}`);
  const got = textsOf(events, count);
  for (const payload of sent) await writer.publish("n", payload);
  assert.deepEqual(await got, sent);
});

Deno.test("subscriptions that begin while events stream in get each event once", async () => {
  using directory = temporaryDirectory();
  await using writer = new DirectoryBus(directory.path);
  await using reader = new DirectoryBus(directory.path);
  const count = 3000;
  const readings: Promise<(string | undefined)[]>[] = [];
  for (let i = 0; i < count; i++) {
    // Half of them through the reader's own object, which notes what it publishes without a hint.
    await (i % 2 === 0 ? writer : reader).publish("n", `${i}`);
    if (i % 300 === 0) readings.push(textsOf(reader.subscribe("n", { from: "start" }), count));
    if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve));
  }
  const sent = Array.from({ length: count }, (_, i) => `${i}`).sort();
  for (const got of await Promise.all(readings)) assert.deepEqual(got.sort(), sent);
});

Deno.test("a subscription that is not read costs names, and gets every event when it is", async () => {
  using directory = temporaryDirectory();
  // In a process of its own, which can be made to collect its garbage before it is measured.
  const program = `
    import { DirectoryBus } from ${JSON.stringify(new URL("../../mod.ts", import.meta.url).href)};
    await using bus = new DirectoryBus(Deno.args[0]);
    const slow = bus.subscribe(">");
    const fast = bus.subscribe("n");
    await slow.ready;
    for (let i = 0; i < 1000; i++) {
      await bus.publish("n", new Uint8Array(100_000).fill(i));
      await fast.next();
    }
    // What was read last is let go of only when the event loop has come round.
    for (let turn = 0; turn < 3; turn++) {
      await new Promise((resolve) => setTimeout(resolve));
      gc();
    }
    const { heapUsed, external } = Deno.memoryUsage();
    for (let i = 0; i < 1000; i++) {
      const { value } = await slow.next();
      if (value.payload[99_999] !== i % 256) throw new Error("event " + i + " is another");
    }
    console.log(heapUsed + external);`;
  const file = `${directory.path}/program.ts`;
  Deno.writeTextFileSync(file, program);
  const { stdout, stderr } = await within(
    new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "--v8-flags=--expose-gc", file, directory.path],
    }).output(),
    "the measurement",
  );
  const held = Number(new TextDecoder().decode(stdout));
  assert(held > 0, new TextDecoder().decode(stderr));
  assert(held < 30_000_000, `${held} bytes are held while 100,000,000 wait to be read`);
});

Deno.test("leaving the loop, disposing and a signal end a subscription, and the last one stops the watch", async () => {
  using directory = temporaryDirectory();
  const bus = new DirectoryBus(directory.path);
  const stop = new AbortController();
  const left = bus.subscribe(">", { from: "start" });
  const disposed = bus.subscribe(">");
  const stopped = bus.subscribe(">", { signal: stop.signal });
  const ended = bus.subscribe(">");
  const unready = bus.subscribe(">", { signal: AbortSignal.abort() });
  await bus.publish("a", "1");
  for await (const _ of left) break;
  await disposed[Symbol.asyncDispose]();
  const waiting = stopped.next();
  await stopped.ready;
  assert.equal((await waiting).value?.topic, "a");
  stop.abort();
  await bus[Symbol.asyncDispose]();
  for (const subscription of [left, disposed, stopped, ended, unready]) {
    assert.deepEqual(await within(subscription.next(), "the end"), { done: true, value: undefined });
    await within(subscription.ready, "ready");
  }
  // The bus can be used again: it begins to watch anew.
  const again = bus.subscribe(">", { from: "start" });
  assert.deepEqual(await textsOf(again, 1), ["1"]);
  await again.return();
});

Deno.test("what cannot be is refused", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  for (const topic of ["", "__x", "a b", "x".repeat(201), ".."]) {
    await assert.rejects(bus.publish(topic, ""), TopicError);
  }
  assert.deepEqual(filesIn(directory.path), []);
  await bus.publish("/etc/x", "");
  assert(!exists("/etc/x"));
  assert.match(filesIn(`${directory.path}/events`)[0], /_%2Fetc%2Fx$/);
  assert.throws(() => bus.subscribe("a..b"), FilterError);
  assert.throws(() => bus.subscribe(">", { from: { after: "17" } }), /"17" is not the id of an event in a directory/);

  const file = `${directory.path}/file`;
  Deno.writeTextFileSync(file, "");
  await using notDirectory = new DirectoryBus(file);
  const isReport = (error: unknown) =>
    error instanceof BusError && error.message.endsWith(`${file}: it is not a directory`);
  await assert.rejects(notDirectory.publish("a", ""), isReport);
  const subscription = notDirectory.subscribe(">");
  await assert.rejects(subscription.ready, isReport);
  await assert.rejects(subscription.next(), isReport);
  assert.equal((await subscription.next()).done, true);
});

Deno.test("sync gives the same event", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(`${directory.path}/bus`);
  const { id } = await bus.publish("a", "1", { sync: true });
  assert.deepEqual(filesIn(`${directory.path}/bus/events`), [id]);
});

Deno.test("a directory that changes without a hint is noticed", async () => {
  using directory = temporaryDirectory();
  await using bus = new DirectoryBus(directory.path);
  const events = bus.subscribe(">", { from: "start" });
  await bus.publish("n", "1");
  assert.deepEqual(await textsOf(events, 1), ["1"]);
  // A hard link is one of the ways in that the watch does not report as a renaming.
  const [name] = filesIn(`${directory.path}/events`);
  Deno.linkSync(`${directory.path}/events/${name}`, `${directory.path}/events/${name}2`);
  assert.equal((await within(events.next(), "the link")).value?.id, `${name}2`);
});
