/**
 * A hole in what reads the messages of strangers is no way out: programs that have one, run from source and compiled, are made
 * to try all that they should not be able to do.
 */
import assert from "node:assert/strict";
import { Spoke } from "../../mod.ts";
import { temporaryDirectory } from "../temporary.ts";
import { ATTEMPT_COUNT } from "./confinement/attack.ts";
import { ollie, Running } from "./ollie.ts";

const root = new URL("../../", import.meta.url);
const { tasks } = JSON.parse(Deno.readTextFileSync(new URL("deno.json", root)));

/** The options that a task of deno.json gives to `deno`, but for where the program goes. */
function optionsOf(task: string): string[] {
  const words: string[] = tasks[task].command.split(" ");
  return words.slice(2).filter((word, i, all) => word !== "--output" && all[i - 1] !== "--output" && word !== "cli.ts");
}

/** An import map by which the program has holes. */
function writeImportMap(path: string): string {
  const holes = { "lib/ninep/codec.ts": "hostile_codec.ts", "lib/hub/envelope.ts": "hostile_envelope.ts" };
  const pairs = Object.entries(holes).map(([sound, hostile]) =>
    [new URL(sound, root).href, new URL(`tests/cli/confinement/${hostile}`, root).href] as const
  );
  Deno.writeTextFileSync(
    path,
    JSON.stringify({
      imports: Object.fromEntries(pairs),
      // What has the hole is made of what has none.
      scopes: Object.fromEntries(pairs.map(([sound, hostile]) => [hostile, { [sound]: sound }])),
    }),
  );
  return path;
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
    assert(line !== undefined && line.startsWith("attack: "), line);
    lines.push(line);
  }
  // And it still does what it is for.
  await touching;
  server.signal("SIGTERM");
  assert.equal((await server.status).code, 0);
  return lines;
}

function assertRefused(lines: readonly string[]): void {
  for (const line of lines) {
    assert.match(line, /: (NotCapable|TypeError: Requires read access|PermissionDenied: Can't escalate)/);
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
    cwd: root,
    env: { NO_COLOR: "1" },
  }).output();
  const lines = new TextDecoder().decode(stderr).trim().split("\n");
  assert.equal(lines.length, ATTEMPT_COUNT);
  for (const line of lines) assert.doesNotMatch(line, /NotCapable|Requires|PermissionDenied/);
});

Deno.test("a hole in what reads the messages of strangers is no way out", async () => {
  using directory = temporaryDirectory();
  const map = writeImportMap(`${directory.path}/map.json`);
  const options = optionsOf("ollie").filter((word) => word !== "--quiet");
  await attackAll([
    ...[Deno.execPath(), "run", "--quiet", "--no-check", `--import-map=${map}`],
    ...options,
    "--unstable-worker-options",
    new URL("cli.ts", root).pathname,
  ]);
});

Deno.test("nor is it in the executable", async (test) => {
  using directory = temporaryDirectory();
  const map = writeImportMap(`${directory.path}/map.json`);
  const executable = `${directory.path}/ollie`;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "compile",
      "--quiet",
      "--no-check",
      `--import-map=${map}`,
      ...optionsOf("compile"),
      "--output",
      executable,
      "cli.ts",
    ],
    cwd: root,
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
