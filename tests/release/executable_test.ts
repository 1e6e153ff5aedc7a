/** What the executable may do, and what is embedded in it: the packages that it uses, as the tests have tried them, and no others. */
import assert from "node:assert/strict";
import project from "../../deno.json" with { type: "json" };
import { ENTRY, LATE_MODULES, LOCK, PERMISSIONS, ROOT } from "../../release/executable.ts";

/** The packages of a lock, by name and version, with their digests. */
function packagesOf(lock: string): Record<string, { integrity: string }> {
  return JSON.parse(Deno.readTextFileSync(new URL(lock, ROOT))).npm ?? {};
}

Deno.test("ollie from its source may do what the executable may", () => {
  assert.equal(project.tasks.ollie.command, ["deno run", ...PERMISSIONS, ENTRY].join(" "));
});

/** The sources of the executable, from the root of the project. */
function* sourcesIn(path: string): Iterable<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(path, ROOT))) {
    if (isDirectory) yield* sourcesIn(`${path}${name}/`);
    else if (name.endsWith(".ts")) yield `${path}${name}`;
  }
}

Deno.test("every module that is found only when it is asked for is in the executable", () => {
  const found = [ENTRY, ...sourcesIn("lib/")].flatMap((path) => {
    const url = new URL(path, ROOT);
    const late = Deno.readTextFileSync(url).matchAll(/(?:beside\(|new URL\()"([^"]+\.ts)"/g);
    return Array.from(late, ([, module]) => new URL(module, url).href.slice(ROOT.href.length));
  });
  assert.deepEqual([...new Set(found)].sort(), LATE_MODULES.toSorted());
});

Deno.test("the lock of the executable has every package that it uses", async () => {
  // Deno 2.9 does not hold modules that are named by --include to a frozen lock when it compiles; here it does.
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["cache", "--quiet", ...LOCK, ENTRY, ...LATE_MODULES],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  assert(success, `release/deno.lock lacks a package: copy it from deno.lock. ${new TextDecoder().decode(stderr)}`);
});

Deno.test("the lock of the executable has the very packages that the tests use", () => {
  const tested = packagesOf("deno.lock");
  for (const [name, { integrity }] of Object.entries(packagesOf("release/deno.lock"))) {
    assert.equal(integrity, tested[name]?.integrity, `${name} in release/deno.lock is not that of deno.lock`);
  }
});
