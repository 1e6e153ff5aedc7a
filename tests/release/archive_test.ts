/** Archives, as the system's own tools see them. */
import assert from "node:assert/strict";
import { type ArchivedFile, pack } from "../../release/archive.ts";
import { has } from "../cli/ollie.ts";
import { temporaryDirectory } from "../temporary.ts";

/** Says where the libraries are. */
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;

const text = new TextEncoder();

const PROGRAM = { path: "ollie-x/ollie", content: text.encode("a program\n"), executable: true };
const LICENSE = { path: "ollie-x/LICENSE", content: text.encode("a license\n"), executable: false };
const DEEP = { path: "ollie-x/docs/deep/empty", content: new Uint8Array(), executable: false };
const FILES: readonly ArchivedFile[] = [PROGRAM, LICENSE, DEEP];

/** Runs a command and returns what it prints. */
function print(program: string, ...args: string[]): string {
  const { success, stdout, stderr } = new Deno.Command(program, { args, env: { TZ: "UTC" } }).outputSync();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** Unpacks an archive and checks that what comes out is what went in. */
function checkUnpacked(directory: string, program: string, ...args: string[]): void {
  print(program, ...args);
  for (const { path, content, executable } of FILES) {
    assert.deepEqual(Deno.readFileSync(`${directory}/${path}`), content, path);
    const { mode } = Deno.statSync(`${directory}/${path}`);
    assert.equal(((mode ?? 0) & 0o111) !== 0, executable, path);
  }
}

Deno.test("tar unpacks what was packed, in the order of names, of nobody and of no time", async () => {
  using directory = temporaryDirectory();
  const archive = `${directory.path}/archive.tar.gz`;
  Deno.writeFileSync(archive, await pack("tar.gz", FILES));
  const listed = print("tar", "-tvzf", archive).trim().split("\n").map((line) => line.split(/\s+/));
  assert.deepEqual(listed.map((words) => [words[0], words.at(-1)]), [
    ["-rw-r--r--", LICENSE.path],
    ["-rw-r--r--", DEEP.path],
    ["-rwxr-xr-x", PROGRAM.path],
  ]);
  for (const words of listed) assert.match(words.join(" "), /\b0\/0 .*\b1980\b|\b0 0 .*\b1980\b/);
  checkUnpacked(directory.path, "tar", "-xzf", archive, "-C", directory.path);
});

Deno.test({
  name: "unzip unpacks what was packed, in the order of names, of no time",
  ignore: !has("unzip"),
  fn: async () => {
    using directory = temporaryDirectory();
    const archive = `${directory.path}/archive.zip`;
    Deno.writeFileSync(archive, await pack("zip", FILES));
    const listed = print("unzip", "-ZT", archive).split("\n").filter((line) => line.startsWith("-"));
    assert.deepEqual(listed.map((line) => line.split(/\s+/)).map((words) => [words[0], ...words.slice(-2)]), [
      ["-rw-r--r--", "19800101.000000", LICENSE.path],
      ["-rw-r--r--", "19800101.000000", DEEP.path],
      ["-rwxr-xr-x", "19800101.000000", PROGRAM.path],
    ]);
    checkUnpacked(directory.path, "unzip", "-q", archive, "-d", directory.path);
  },
});

Deno.test("the same files make the same archive, whatever their order and wherever the clock hangs", () => {
  const script = `
    import { pack } from ${JSON.stringify(new URL("../../release/archive.ts", import.meta.url).href)};
    const content = new Uint8Array(100_000).map((_, i) => i * i % 251);
    const files = ["a/b", "a/c", "a/b.d"].map((path) => ({ path, content, executable: path === "a/c" }));
    if (Deno.args[0] === "reversed") files.reverse();
    for (const format of ["tar.gz", "zip"]) {
      const digest = await crypto.subtle.digest("SHA-256", await pack(format, files));
      console.log(format, new Uint8Array(digest).join(" "));
    }`;
  using directory = temporaryDirectory();
  const program = `${directory.path}/digest.ts`;
  Deno.writeTextFileSync(program, script);
  const digests = [["UTC", "sorted"], ["Asia/Kathmandu", "reversed"], ["America/Los_Angeles", "sorted"]].map(
    ([TZ, order]) => {
      const { success, stdout, stderr } = new Deno.Command(Deno.execPath(), {
        args: ["run", "--quiet", "--no-check", "--allow-all", "--config", CONFIG, program, order],
        env: { TZ },
      }).outputSync();
      assert(success, new TextDecoder().decode(stderr));
      return new TextDecoder().decode(stdout);
    },
  );
  assert.match(digests[0], /^tar\.gz [\d ]+\nzip [\d ]+\n$/);
  assert.deepEqual(digests, [digests[0], digests[0], digests[0]]);
});
