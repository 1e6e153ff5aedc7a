/** `deno task release`, from the command to the archive that somebody unpacks and runs. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import project from "../../deno.json" with { type: "json" };
import { ROOT } from "../../release/executable.ts";
import { archiveName, directoryName, TARGETS } from "../../release/targets.ts";
import { has } from "../cli/ollie.ts";
import { within } from "../deadline.ts";
import { exists, temporaryDirectory } from "../temporary.ts";

/** How a command ended, and what it said. */
interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(program: string, args: readonly string[], options: Deno.CommandOptions = {}): Promise<Ended> {
  const command = new Deno.Command(program, { args: [...args], stdin: "null", ...options });
  // A compiler that has to be fetched takes as long as the network does.
  const { code, stdout, stderr } = await within(command.output(), `the end of ${program} ${args.join(" ")}`, 600_000);
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

function release(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  return run(Deno.execPath(), ["task", "--quiet", "release", ...args], { cwd: ROOT, env: { NO_COLOR: "1", ...env } });
}

/** Whether Deno can make executables here, for which it has to fetch a base of its own version. */
async function canCompile(): Promise<boolean> {
  using directory = temporaryDirectory();
  const executable = `${directory.path}/empty`;
  const compiled = await run(Deno.execPath(), ["compile", "--output", executable, "bench/empty.ts"], { cwd: ROOT });
  return compiled.code === 0 && (await run(executable, [])).code === 0;
}

const target = TARGETS.find(({ triple }) => triple === Deno.build.target);
const ignore = target === undefined || !await canCompile();
if (ignore) console.error("no executable can be made on this machine: a release is not tried");

Deno.test({
  name: "a release for this machine is an archive whose sum is right, and which unpacks to an ollie that runs",
  ignore,
  fn: async () => {
    assert(target !== undefined);
    using directory = temporaryDirectory();
    const output = `${directory.path}/release`;
    Deno.mkdirSync(output);
    const stale = `${output}/ollie-x86_64-pc-windows-msvc.zip`;
    Deno.writeTextFileSync(stale, "from an earlier release");
    Deno.writeTextFileSync(`${output}/notes.txt`, "mine");

    const args = ["--target", target.triple, "--target", target.triple, "--tag", `v${project.version}`];
    const { code, stdout, stderr } = await release([...args, "--output", output]);
    assert.deepEqual([code, stderr], [0, ""]);
    const name = archiveName(target);
    assert.match(stdout, new RegExp(`^${output}/${name}: \\d+\\.\\d MB\\n$`));
    assert.deepEqual([...Deno.readDirSync(output)].map(({ name }) => name).sort(), ["SHA256SUMS", "notes.txt", name]);

    const archive = Deno.readFileSync(`${output}/${name}`);
    const sums = Deno.readTextFileSync(`${output}/SHA256SUMS`);
    assert.equal(sums, `${createHash("sha256").update(archive).digest("hex")}  ${name}\n`);
    if (has("sha256sum")) {
      assert.equal((await run("sha256sum", ["-c", "SHA256SUMS"], { cwd: output })).stdout, `${name}: OK\n`);
    }

    assert.equal((await run("tar", ["-xzf", name], { cwd: output })).code, 0);
    const unpacked = `${output}/${directoryName(target)}`;
    for (const file of ["LICENSE", "README.md"]) {
      assert.equal(Deno.readTextFileSync(`${unpacked}/${file}`), Deno.readTextFileSync(new URL(file, ROOT)));
    }
    const executable = `${unpacked}/${target.executable}`;
    const printed = {
      "ollie.1": ["manual"],
      "completions/ollie.bash": ["completions", "bash"],
      "completions/_ollie": ["completions", "zsh"],
      "completions/ollie.fish": ["completions", "fish"],
    };
    for (const [file, args] of Object.entries(printed)) {
      assert.equal(Deno.readTextFileSync(`${unpacked}/${file}`), (await run(executable, args)).stdout, file);
    }
    const smoke = new URL("release/smoke.ts", ROOT).pathname;
    assert.deepEqual(await run(Deno.execPath(), ["run", "--quiet", "--allow-all", smoke, executable]), {
      code: 0,
      stdout: "",
      stderr: "",
    });
  },
});

Deno.test("a release that is asked for wrongly is refused by one line that says what would be right", async () => {
  using directory = temporaryDirectory();
  const output = `${directory.path}/release`;
  const triples = TARGETS.map(({ triple }) => triple).join(", ");
  const { version } = project;
  const refusals: [args: string[], message: string][] = [
    [
      ["--tag", "v9.9.9"],
      `the tag is v9.9.9, but the version in deno.json is ${version}: the tag has to be v${version}`,
    ],
    [
      ["--tag", version],
      `the tag is ${version}, but the version in deno.json is ${version}: the tag has to be v${version}`,
    ],
    [["--tag", ""], `the tag is , but the version in deno.json is ${version}: the tag has to be v${version}`],
    [["--target", "linux"], `there is no target "linux": the targets are ${triples}`],
    [["--tarball"], "Unknown option '--tarball'"],
    [["v1"], "Unexpected argument 'v1'. This command does not take positional arguments"],
  ];
  for (const [args, message] of refusals) {
    const { code, stdout, stderr } = await release([...args, "--output", output]);
    assert.deepEqual([code, stdout, stderr], [1, "", `release: ${message}\n`]);
  }
  assert(!exists(output));
});

Deno.test("a base for this machine does not get into an executable for another", async () => {
  using directory = temporaryDirectory();
  const other = TARGETS.find(({ triple }) => triple !== Deno.build.target);
  assert(other !== undefined);
  const output = `${directory.path}/release`;
  const env = { DENORT_BIN: `${directory.path}/denort` };
  const { code, stderr } = await release(["--target", other.triple, "--output", output], env);
  assert.equal(code, 1);
  assert.equal(
    stderr,
    `release: DENORT_BIN names a base for this machine, which is none for ${other.triple}: ` +
      `unset it, or ask for --target ${Deno.build.target} alone\n`,
  );
  assert(!exists(output));
});
