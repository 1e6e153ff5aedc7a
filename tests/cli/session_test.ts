/** The session that began it all, and the shell pair whose events ollie shares. */
import assert from "node:assert/strict";
import { temporaryDirectory } from "../temporary.ts";
import { has, OLLIE, Running, shell } from "./ollie.ts";

Deno.test("three terminals: red, blue, one, two, green", async () => {
  using directory = temporaryDirectory();
  const env = { BUS: `${directory.path}/a` };
  await shell("echo red | ollie pub $BUS color; echo blue | ollie pub $BUS color", { env });
  await using termB = new Running([...OLLIE, "sub", "-m", env.BUS]);
  assert.deepEqual(await termB.stdout.take(2), ["red", "blue"]);
  await shell("echo one | ollie pub $BUS number", { env });
  assert.equal(await termB.stdout.next(), "one");
  await using termC = new Running([...OLLIE, "sub", "-m", "-e", "color", env.BUS]);
  assert.deepEqual(await termC.stdout.take(2), ["red", "blue"]);
  await shell("echo two | ollie pub $BUS number; echo green | ollie pub $BUS color", { env });
  assert.deepEqual(await termB.stdout.take(2), ["two", "green"]);
  assert.equal(await termC.stdout.next(), "green");
});

/** What `inotify-pub` does, in the same calls. */
const SCRIPT = `
  script_pub() {
    local date name
    date=$(TZ=UTC date --iso-8601=ns) && mkdir -p "$1/tmp" && mkdir -p "$1/events" && name="\${date}_$2" &&
    cat > "$1/tmp/$name" && mv --no-clobber "$1/tmp/$name" "$1/events"
  }`;

Deno.test("what a script publishes is received, past and to come", async () => {
  using directory = temporaryDirectory();
  const env = { BUS: directory.path };
  await shell(`${SCRIPT}; echo red | script_pub $BUS color; echo "a b" | script_pub $BUS "two words"`, { env });
  await using sub = await Running.sub("-m", "-f", "text", directory.path);
  assert.deepEqual(await sub.stdout.take(2), ["color red", "two%20words a b"]);
  await shell(`${SCRIPT}; for i in 1 2 3; do echo $i | script_pub $BUS n; done`, { env });
  assert.deepEqual(await sub.stdout.take(3), ["n 1", "n 2", "n 3"]);
});

Deno.test("events of both kinds of publisher are in one order", async () => {
  using directory = temporaryDirectory();
  const { stdout } = await shell(
    `${SCRIPT}; for i in 1 2 3; do echo s$i | script_pub $BUS n; echo o$i | ollie pub $BUS n; done
     ollie sub -c 6 $BUS; ls $BUS/events | LC_ALL=C sort | while read -r name; do cat "$BUS/events/$name"; done`,
    { env: { BUS: directory.path } },
  );
  const order = "s1\no1\ns2\no2\ns3\no3\n";
  assert.equal(stdout, order + order);
});

Deno.test({
  name: "what ollie publishes is seen by inotifywait -m -e moved_to",
  ignore: !has("inotifywait"),
  fn: async () => {
    using directory = temporaryDirectory();
    const env = { BUS: directory.path };
    await shell("ollie pub -d 0 $BUS first", { env });
    await using watch = new Running([
      "inotifywait",
      "-m",
      "-e",
      "moved_to",
      "--format",
      "%f",
      `${directory.path}/events`,
    ]);
    while (await watch.stderr.next() !== "Watches established.");
    await shell("ollie pub -d 1 $BUS color; printf 'a\\nb\\n' | ollie pub -l $BUS number", { env });
    const names = await watch.stdout.take(3);
    assert.deepEqual(names.map((name) => name?.slice(35)), ["_color", "_number", "_number"]);
    for (const name of names) assert.match(name ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{9}\+00:00_/);
  },
});
