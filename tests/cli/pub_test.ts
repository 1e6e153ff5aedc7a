import assert from "node:assert/strict";
import { temporaryDirectory } from "../temporary.ts";
import { AS_OTHERS, has, OLLIE, ollie, OLLIE_IN_SHELL, Running, shell } from "./ollie.ts";

/** The topics and payloads of the events in a directory, in order. */
function eventsIn(bus: string): { topic: string; payload: string }[] {
  const names = Array.from(Deno.readDirSync(`${bus}/events`), ({ name }) => name).sort();
  return names.map((name) => ({
    topic: name.slice(name.indexOf("_") + 1),
    payload: Deno.readTextFileSync(`${bus}/events/${name}`),
  }));
}

Deno.test("standard input becomes one event, and says nothing", async () => {
  using directory = temporaryDirectory();
  const bus = `${directory.path}/made/here`;
  assert.deepEqual(await ollie(["pub", bus, "color"], { stdin: "red\nblue" }), {
    code: 0,
    stdout: "",
    stderr: "",
    bytes: new Uint8Array(),
  });
  assert.deepEqual(eventsIn(bus), [{ topic: "color", payload: "red\nblue" }]);
  assert.deepEqual([...Deno.readDirSync(`${bus}/tmp`)], []);
});

Deno.test("the bus is the current directory and the topic is event, unless they are given", async () => {
  using directory = temporaryDirectory();
  await ollie(["pub"], { stdin: "1", cwd: directory.path });
  assert.deepEqual(eventsIn(directory.path), [{ topic: "event", payload: "1" }]);
});

Deno.test("--data publishes a text, --verbose prints the id", async () => {
  using directory = temporaryDirectory();
  const bus = directory.path;
  const { stdout, code } = await ollie(["pub", "-v", "-d", "up", bus, "host.web1/eth0"]);
  assert.equal(code, 0);
  const [name] = Array.from(Deno.readDirSync(`${bus}/events`), ({ name }) => name);
  assert.equal(stdout, `${name}\n`);
  assert.match(name, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{9}\+00:00_host\.web1%2Feth0$/);
  assert.deepEqual(eventsIn(bus), [{ topic: "host.web1%2Feth0", payload: "up" }]);
  await ollie(["pub", "--sync", "--data=", bus, "empty"]);
  assert.deepEqual(eventsIn(bus).at(-1), { topic: "empty", payload: "" });
});

Deno.test("payloads of 0 bytes and of 64 MiB arrive to the byte", async () => {
  using directory = temporaryDirectory();
  const bus = directory.path;
  const large = new Uint8Array(64 * 1024 * 1024);
  for (let at = 0; at < large.length; at += 65536) crypto.getRandomValues(large.subarray(at, at + 65536));
  assert.equal((await ollie(["pub", bus, "large"], { stdin: large })).code, 0);
  assert.equal((await ollie(["pub", bus, "none"], { stdin: "" })).code, 0);
  const got = await ollie(["sub", "-e", "large", bus]);
  assert(got.bytes.length === large.length && got.bytes.every((byte, i) => byte === large[i]));
  assert.deepEqual((await ollie(["sub", "-e", "none", "-0", bus])).bytes, Uint8Array.of(0));
});

Deno.test("--lines publishes each line as it comes, on a pipe that does not end", async () => {
  using directory = temporaryDirectory();
  const bus = directory.path;
  await using pub = new Running([...OLLIE, "pub", "-lv", bus, "n"]);
  for (const line of ["one", "", "three words here"]) {
    await pub.write(`${line}\n`);
    const id = await pub.stdout.next();
    assert.equal(Deno.readTextFileSync(`${bus}/events/${id}`), line);
  }
  await pub.write("in two ");
  await pub.write("parts\nand the la");
  assert.equal(Deno.readTextFileSync(`${bus}/events/${await pub.stdout.next()}`), "in two parts");
  await pub.write("st");
  await pub.closeInput();
  assert.equal((await pub.status).code, 0);
  assert.deepEqual(eventsIn(bus).map(({ payload }) => payload), [
    "one",
    "",
    "three words here",
    "in two parts",
    "and the last",
  ]);
});

Deno.test("--lines takes lines of any length, and of any bytes", async () => {
  using directory = temporaryDirectory();
  const bus = directory.path;
  const long = "x".repeat(200_000);
  const input = new TextEncoder().encode(`a\r\n${long}\nb\n\n`);
  input[0] = 0xff;
  await ollie(["pub", "-l", bus], { stdin: input });
  const { bytes } = await ollie(["sub", "-0", "-c4", bus]);
  const expected = new TextEncoder().encode(`a\r\0${long}\0b\0\0`);
  expected[0] = 0xff;
  assert.deepEqual(bytes, expected);
});

Deno.test("interrupted, it exits 130 and leaves nothing published by halves", async () => {
  using directory = temporaryDirectory();
  await using pub = new Running([...OLLIE, "pub", "-lv", directory.path]);
  await pub.write("one\nhal");
  await pub.stdout.next();
  pub.signal("SIGINT");
  assert.equal((await pub.status).code, 130);
  assert.deepEqual(eventsIn(directory.path).map(({ payload }) => payload), ["one"]);
});

Deno.test("an input that cannot be read is reported, and nothing is published", async () => {
  using directory = temporaryDirectory();
  for (const options of ["", "-l"]) {
    const { code, stderr } = await shell(`ollie pub ${options} "$BUS" < /`, { env: { BUS: directory.path } });
    assert.deepEqual([code, stderr], [1, "ollie pub: cannot read standard input: is a directory\n"]);
  }
  assert.deepEqual([...Deno.readDirSync(directory.path)], []);
});

Deno.test({
  name: "an input that comes in small pieces takes no more memory than it is long",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    using directory = temporaryDirectory();
    await using pub = new Running([...OLLIE, "pub", directory.path]);
    for (let i = 0; i < 3000; i++) await pub.write(`piece ${i}\n`);
    assert(pub.peakMemory < 200_000_000, `${pub.peakMemory} bytes`);
    await pub.closeInput();
    assert.equal((await pub.status).code, 0);
  },
});

Deno.test("an id that cannot be printed is no reason to doubt that the event is published", async () => {
  using directory = temporaryDirectory();
  const env = { BUS: directory.path };
  const full = await shell(`ollie pub -v -d x "$BUS" > /dev/full`, { env });
  assert.equal(full.code, 1);
  assert.match(
    full.stderr,
    /^ollie pub: published \S+_event, but cannot write to standard output: no space left on device\n$/,
  );
  const closed = await shell(`seq 100 | ollie pub -v -l "$BUS" | head -0; exit "\${PIPESTATUS[1]}"`, { env });
  assert.deepEqual([closed.code, closed.stderr], [0, ""]);
  assert.equal(eventsIn(directory.path).length, 101);
});

Deno.test("a link that leads nowhere is reported", async () => {
  using directory = temporaryDirectory();
  const bus = `${directory.path}/bus`;
  Deno.symlinkSync(`${directory.path}/nowhere`, bus);
  const { code, stderr } = await ollie(["pub", "-d", "x", bus]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^ollie pub: cannot publish to .*: .*\/tmp is no directory, or lies behind a link that leads nowhere\n$/,
  );
  Deno.removeSync(bus);
  Deno.mkdirSync(bus);
  Deno.symlinkSync(`${directory.path}/nowhere`, `${bus}/tmp`);
  assert.match((await ollie(["pub", "-d", "x", bus])).stderr, /lies behind a link that leads nowhere/);
});

Deno.test({
  name: "--sync reports no failure for an event that is published",
  ignore: Deno.uid() === 0 && !has("setpriv"),
  fn: async () => {
    using directory = temporaryDirectory();
    const bus = directory.path;
    await ollie(["pub", "-d", "1", bus]);
    // It may be written to, but cannot be opened to be synced.
    Deno.chmodSync(`${bus}/events`, 0o333);
    const { code, stderr } = await ollie(["pub", "--sync", "-d", "2", bus], { under: AS_OTHERS });
    Deno.chmodSync(`${bus}/events`, 0o755);
    assert.deepEqual([code, stderr], [1, `ollie pub: cannot publish to ${bus}: permission denied\n`]);
    assert.equal(eventsIn(bus).length, 1);
  },
});

Deno.test("who types the input is told how it ends, and nobody else", { ignore: !has("script") }, async () => {
  using directory = temporaryDirectory();
  const bus = directory.path;
  const typed = await shell(`printf 'red\\n\\004' | script -qec '${OLLIE_IN_SHELL} pub ${bus} color' /dev/null`);
  assert.match(typed.stdout, /ollie pub: reading standard input, until Ctrl-D/);
  assert.deepEqual(eventsIn(bus), [{ topic: "color", payload: "red\n" }]);
  const given = await shell(`script -qec '${OLLIE_IN_SHELL} pub -d blue ${bus} color' /dev/null`);
  assert.equal(given.stdout, "");
});
