/** What the system may refuse: permissions, space, watches. */
import assert from "node:assert/strict";
import { exists, temporaryDirectory } from "../temporary.ts";
import { AS_OTHERS, has, OLLIE, ollie, Running, shell } from "./ollie.ts";

const isRoot = Deno.uid() === 0;

Deno.test({
  name: "a directory that may not be written to",
  ignore: isRoot && !has("setpriv"),
  fn: async () => {
    using directory = temporaryDirectory();
    const bus = directory.path;
    await ollie(["pub", "-d", "red", bus, "color"]);
    for (const path of [`${bus}/tmp`, `${bus}/events`]) {
      Deno.chmodSync(path, 0o555);
      const { code, stderr } = await ollie(["pub", "-d", "blue", bus, "color"], { under: AS_OTHERS });
      assert.deepEqual([code, stderr], [1, `ollie pub: cannot publish to ${bus}: permission denied\n`]);
      assert.equal((await ollie(["sub", bus], { under: AS_OTHERS })).stdout, "red");
      Deno.chmodSync(path, 0o755);
    }
    assert.deepEqual([[...Deno.readDirSync(`${bus}/tmp`)].length, [...Deno.readDirSync(`${bus}/events`)].length], [
      0,
      1,
    ]);
    Deno.chmodSync(bus, 0o555);
    const { code, stderr } = await ollie(["sub", `${bus}/new`], { under: AS_OTHERS });
    assert.deepEqual([code, stderr], [1, `ollie sub: cannot subscribe to ${bus}/new: permission denied\n`]);
    Deno.chmodSync(bus, 0o755);
  },
});

Deno.test({
  name: "a directory, or an event, that may not be read",
  ignore: isRoot && !has("setpriv"),
  fn: async () => {
    using directory = temporaryDirectory();
    const bus = directory.path;
    await ollie(["pub", "-d", "red", bus, "color"]);
    await ollie(["pub", "-d", "blue", bus, "color"]);
    const [{ name }] = [...Deno.readDirSync(`${bus}/events`)].sort((a, b) => a.name < b.name ? -1 : 1);
    Deno.chmodSync(`${bus}/events/${name}`, 0);
    const one = await ollie(["sub", bus], { under: AS_OTHERS });
    assert.deepEqual([one.code, one.stdout], [1, "blue"]);
    assert.equal(one.stderr, `ollie sub: cannot read the event "${name}" in ${bus}: permission denied\n`);
    Deno.chmodSync(`${bus}/events`, 0);
    const all = await ollie(["sub", bus], { under: AS_OTHERS });
    assert.deepEqual([all.code, all.stderr], [1, `ollie sub: cannot subscribe to ${bus}: permission denied\n`]);
    Deno.chmodSync(`${bus}/events`, 0o755);
  },
});

/** Whether this machine lets us have a small disk of our own. */
const canMount = isRoot && (() => {
  using directory = temporaryDirectory();
  const options = { stdout: "null", stderr: "null" } as const;
  const mounted = new Deno.Command("mount", {
    args: ["-t", "tmpfs", "-o", "size=64k", "ollie", directory.path],
    ...options,
  });
  if (!mounted.outputSync().success) return false;
  return new Deno.Command("umount", { args: [directory.path], ...options }).outputSync().success;
})();

Deno.test({
  name: "a full disk: what was reported as published is there, whole, and nothing else",
  ignore: !canMount,
  fn: async () => {
    using directory = temporaryDirectory();
    const bus = `${directory.path}/small`;
    Deno.mkdirSync(bus);
    await shell(`mount -t tmpfs -o size=1m ollie "$BUS"`, { env: { BUS: bus } });
    try {
      const payload = "x".repeat(10_000);
      const lines = await ollie(["pub", "-lv", bus, "n"], { stdin: `${payload}\n`.repeat(200) });
      assert.equal(lines.code, 1);
      const ids = lines.stdout.trim().split("\n");
      assert(ids.length > 50 && ids.length < 110, `${ids.length} published`);
      assert.equal(
        lines.stderr,
        `ollie pub: line ${ids.length + 1}: cannot publish to ${bus}: no space left on device\n`,
      );
      const large = await ollie(["pub", bus, "n"], { stdin: "x".repeat(1_000_000) });
      assert.deepEqual([large.code, large.stderr], [
        1,
        `ollie pub: cannot publish to ${bus}: no space left on device\n`,
      ]);
      assert.deepEqual([...Deno.readDirSync(`${bus}/tmp`)], []);
      const { stdout } = await ollie(["sub", "-0", "-c", `${ids.length}`, bus]);
      assert.deepEqual(stdout.split("\0").slice(0, -1), ids.map(() => payload));
      // With room again, all goes on.
      Deno.removeSync(`${bus}/events/${ids[0]}`);
      assert.equal((await ollie(["pub", "-d", payload, bus, "n"])).code, 0);

      const cursor = await ollie(["sub", "-m", "--cursor", `${bus}/cursor`, bus], { under: ["timeout", "20"] });
      assert.equal(cursor.code, 1);
      assert.match(cursor.stderr, /^ollie sub: cannot use the cursor .*\/cursor: no space left on device\n$/);
    } finally {
      await shell(`umount "$BUS"`, { env: { BUS: bus } });
    }
  },
});

Deno.test("Deno keeps /dev, /proc and /sys to itself, and ollie says so", {
  ignore: !exists("/dev/shm"),
}, async () => {
  const path = `/dev/shm/ollie-${crypto.randomUUID()}`;
  const { code, stderr } = await ollie(["pub", "-d", "x", path]);
  assert.equal(code, 1);
  assert.match(stderr, /^ollie pub: cannot publish to .*: Deno lets no program into \/dev, \/proc and \/sys .*\n$/);
});

/** A shell in which no process gets a watch of the system's, which limits them for each user. */
const WITHOUT_WATCHES = [
  "unshare",
  "-Ur",
  "bash",
  "-c",
  'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"',
  "-",
];

Deno.test({
  name: "without a watch, events come all the same",
  ignore: !has("unshare") ||
    !new Deno.Command("unshare", { args: [...WITHOUT_WATCHES.slice(1), "true"] }).outputSync().success,
  fn: async () => {
    using directory = temporaryDirectory();
    const bus = directory.path;
    await using sub = new Running([...WITHOUT_WATCHES, ...OLLIE, "sub", "-m", bus]);
    for (const payload of ["1", "2", "3"]) {
      assert.equal((await ollie(["pub", "-d", `${payload}\n`, bus])).code, 0);
      assert.equal(await sub.stdout.next(), payload);
    }
  },
});
