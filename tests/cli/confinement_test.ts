/**
 * A hole in what reads the messages of strangers is no way out: programs that have one, run from source and compiled, are made
 * to try all that they should not be able to do.
 */
import assert from "node:assert/strict";
import { Spoke } from "../../mod.ts";
import { ENTRY, FLAGS, IMPORT_MAP, PERMISSIONS, ROOT, UNSTABLE } from "../../release/executable.ts";
import { temporaryDirectory } from "../temporary.ts";
import { ATTEMPT_COUNT } from "./confinement/attack.ts";
import { ollie, Running } from "./ollie.ts";

/** By this import map the program has holes; what has a hole is made of what has none. */
const HOLES = importMap("import_map.json");

/** By this one, whoever sends a message brings the server to a standstill. */
const HANGING = importMap("hanging_map.json");

function importMap(name: string): string {
  return `--import-map=${new URL(`confinement/${name}`, import.meta.url).pathname}`;
}

/** Ollie from its source, by an import map. */
function fromSource(map: string): string[] {
  return [
    ...[Deno.execPath(), "run", "--quiet", "--no-check", map],
    ...PERMISSIONS,
    ...UNSTABLE,
    new URL("cli.ts", ROOT).pathname,
  ];
}

/** Starts a server that has a hole, uses the hole, and returns what became of each attempt. */
async function attacked(
  program: readonly string[],
  args: readonly string[],
  touch: (address: string) => Promise<unknown>,
): Promise<string[]> {
  await using server = new Running([...program, ...args]);
  const listening = await server.stderr.next();
  const [, address] = / listening on (.*)/.exec(listening ?? "") ?? [];
  assert(address !== undefined, listening);
  const touching = touch(address);
  const lines = [];
  while (lines.length < ATTEMPT_COUNT) {
    const line = await server.stderr.next();
    assert(line !== undefined, lines.join("\n"));
    // Deno says by itself, too, that a worker could not be loaded.
    if (line.startsWith("attack: ")) lines.push(line);
  }
  // And it still does what it is for.
  await touching;
  server.signal("SIGTERM");
  assert.equal((await server.status).code, 0);
  return lines;
}

function assertRefused(lines: readonly string[]): void {
  for (const line of lines) {
    assert.match(
      line,
      /: (NotCapable: |TypeError: (Requires (read|import|net) access|Blocked by null entry|Module not found: http)|\w+: Can't escalate)/,
    );
  }
}

async function attackAll(program: readonly string[]): Promise<void> {
  using directory = temporaryDirectory();
  const bus = `${directory.path}/bus`;
  for (const listen of [`unix:${directory.path}/s`, "tcp:127.0.0.1:0"]) {
    assertRefused(
      await attacked(program, ["serve9p", "--listen", listen, bus], async (address) => {
        const { code, stderr } = await ollie(["pub", "-d", "red", address, "color"]);
        assert.deepEqual([code, stderr], [0, ""]);
      }),
    );
  }
  assertRefused(
    await attacked(program, ["hub", "--listen", "127.0.0.1:0", bus], async (address) => {
      const spoke = new Spoke(address.replace("http", "ws"));
      const received = Promise.withResolvers<unknown>();
      spoke.addEventListener("color", ({ detail }) => received.resolve(detail));
      spoke.dispatchEvent(new CustomEvent("color", { detail: "red" }));
      assert.equal(await received.promise, "red");
      await spoke.close();
    }),
  );
}

Deno.test("what the holes are used for can be done where it is not prevented", async () => {
  const { stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--allow-all", "--unstable-worker-options", "tests/cli/confinement/attack.ts"],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  const lines = new TextDecoder().decode(stderr).split("\n").filter((line) => line.startsWith("attack: "));
  assert.equal(lines.length, ATTEMPT_COUNT);
  for (const line of lines) assert.doesNotMatch(line, /NotCapable|Requires|PermissionDenied/);
});

Deno.test("a hole in what reads the messages of strangers is no way out", async () => {
  await attackAll(fromSource(HOLES));
});

Deno.test("nor is it in the executable", async (test) => {
  using directory = temporaryDirectory();
  const executable = `${directory.path}/ollie`;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "compile",
      "--quiet",
      ...FLAGS.map((flag) => flag === IMPORT_MAP ? HOLES : flag),
      `--output=${executable}`,
      ENTRY,
    ],
    cwd: ROOT,
    stderr: "piped",
  }).output();
  const said = new TextDecoder().decode(stderr);
  if (!success && said.includes("denort")) {
    console.log("left out: what an executable is made of cannot be had here");
    return;
  }
  assert(success, said);
  await test.step("no way out", () => attackAll([executable]));
});

Deno.test("a server that was brought to a standstill ends when it is told to, and its socket goes", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/s`;
  await using server = new Running([...fromSource(HANGING), "serve9p", "--listen", `unix:${path}`]);
  assert.match(await server.stderr.next() ?? "", / listening on /);
  using connection = await Deno.connect({ transport: "unix", path });
  await connection.write(new Uint8Array([19, 0, 0, 0, 100, 255, 255, 0, 0, 1, 0, 6, 0, 57, 80, 50, 48, 48, 48]));
  assert.equal(await server.stderr.next(), "hanging");
  server.signal("SIGTERM");
  assert.equal((await server.status).code, 1);
  assert.deepEqual(await server.stderr.rest(), [
    "ollie serve9p: the server did not end within 10 seconds, and was made to",
  ]);
  assert.deepEqual([...Deno.readDirSync(directory.path)], []);
});
