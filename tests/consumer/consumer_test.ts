/**
 * The package where other people use it: programs in a directory of their own, which get it from a server, or as a copy, and have
 * no way to this checkout. What they may do is all that they need.
 */
import assert from "node:assert/strict";
import { has, Running } from "../cli/ollie.ts";
import { browserPath, startBrowser } from "../hub/browser.ts";
import { type RunningHub, startHub } from "../hub/running_hub.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { copyTo, PackageServer, programFor, publishedFiles, version } from "./published.ts";

/** How it ended. */
interface Outcome {
  readonly code: number;
  readonly lines: (string | undefined)[];
  readonly errors: string[];
}

/** Runs a program to its end, where others are at home. */
async function run(command: readonly string[], directory: string): Promise<Outcome> {
  await using running = new Running(["env", "-C", directory, `DENO_DIR=${directory}/cache`, ...command]);
  const [lines, errors, { code }] = await Promise.all([running.stdout.rest(), running.stderr.rest(), running.status]);
  return { code, lines, errors };
}

/** Runs a program that is to say just this. */
async function says(command: readonly string[], directory: string, expected: readonly string[]): Promise<void> {
  const { code, lines, errors } = await run(command, directory);
  assert.deepEqual(lines, expected, errors.join("\n"));
  assert.equal(code, 0, errors.join("\n"));
}

/** `deno`, which may import the package, and do what it is told besides. */
function deno(subcommand: string, { host }: PackageServer, ...args: readonly string[]): string[] {
  return [Deno.execPath(), subcommand, "--quiet", `--allow-import=${host}`, ...args];
}

function write(directory: TemporaryDirectory, program: string, base: string): string {
  const path = `${directory.path}/${program}`;
  Deno.writeTextFileSync(path, programFor(program, base));
  return path;
}

const HEARD_ANYWHERE = [
  'hub {"type":"color","id":"","payload":"red"}',
  'spoke message.sent:conv-123 {"text":"hello"}',
  "bus one",
] as const;
const IN_DENO = [...HEARD_ANYWHERE, "directory DirectoryBus", "end"];
const ELSEWHERE = [
  ...HEARD_ANYWHERE,
  'directory "somewhere" is a bus for programs in Deno: elsewhere there are mem:, ws: and wss: (ollie hub)',
  "end",
];

function hostOf({ url }: RunningHub): string {
  return new URL(url).host;
}

Deno.test("what is published is what a program needs, and nothing that only this checkout does", () => {
  const files = publishedFiles();
  for (const path of ["deno.json", "LICENSE", "README.md", "mod.ts", "spoke.ts", "nats.ts", "cli.ts"]) {
    assert(files.includes(path));
  }
  assert.deepEqual(files.filter((path) => path.includes("/") && !path.startsWith("lib/")), []);
});

Deno.test("a program in Deno imports the module by URL, and needs no more than its directory", async () => {
  using directory = temporaryDirectory();
  const bus = `${directory.path}/bus`;
  const heard = [
    "true true color session.abc123.state Uint8Array(2) [ 0, 255 ]",
    "TopicError",
    "BusError",
    "MemoryBus NinepBus HubBus",
  ];
  const permissions = ["--no-prompt", `--allow-read=${bus}`, `--allow-write=${bus}`];
  {
    await using server = new PackageServer();
    const program = write(directory, "directory.ts", server.url);
    await says(deno("run", server, ...permissions, program, bus), directory.path, heard);
    assert.deepEqual(server.missing, []);
  }
  // What has been loaded once needs no network any more.
  Deno.removeSync(bus, { recursive: true });
  const command = [Deno.execPath(), "run", "--quiet", "--cached-only", ...permissions, "directory.ts", bus];
  await says(command, directory.path, heard);
});

Deno.test("a program in Deno has a hub and spokes, by URL and as one file", async () => {
  using directory = temporaryDirectory();
  await using server = new PackageServer();
  await using hub = await startHub();
  const permissions = ["--no-prompt", `--allow-net=${hostOf(hub)}`];
  const program = write(directory, "anywhere.js", server.url);
  await says(deno("run", server, ...permissions, program, hub.url), directory.path, IN_DENO);

  const bundle = `${directory.path}/bundle.js`;
  await says(deno("bundle", server, "--output", bundle, program), directory.path, []);
  using elsewhere = temporaryDirectory();
  Deno.renameSync(bundle, `${elsewhere.path}/bundle.js`);
  await says([Deno.execPath(), "run", ...permissions, "bundle.js", hub.url], elsewhere.path, IN_DENO);
});

Deno.test("programs of others have the right types, also the strictest, and where there is no Deno", async () => {
  using directory = temporaryDirectory();
  await using server = new PackageServer();
  const check = async (program: string, compilerOptions: Record<string, unknown>, ...options: string[]) => {
    Deno.writeTextFileSync(`${directory.path}/deno.json`, JSON.stringify({ compilerOptions }));
    await says(deno("check", server, ...options, write(directory, program, server.url)), directory.path, []);
  };
  await check("directory.ts", {
    exactOptionalPropertyTypes: true,
    noImplicitOverride: true,
    noPropertyAccessFromIndexSignature: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
  });
  // All that the spoke is made of is looked at: none of it speaks of Deno.
  await check("page.ts", { lib: ["dom", "dom.iterable", "esnext"] }, "--all");
});

Deno.test("ollie runs from a URL, with its page and its workers", async () => {
  using directory = temporaryDirectory();
  await using server = new PackageServer();
  const permissions = ["--no-prompt", "--allow-read", "--allow-write", "--allow-net", "--unstable-worker-options"];
  const ollie = deno("run", server, ...permissions, `${server.url}cli.ts`);
  await says([...ollie, "pub", "--data", "red\n", "bus", "color"], directory.path, []);
  await says([...ollie, "sub", "bus"], directory.path, ["red"]);
  await says([...ollie, "--version"], directory.path, [`ollie ${version}`]);

  await using hub = new Running(["env", "-C", directory.path, ...ollie, "hub", "--listen", "127.0.0.1:0", "bus"]);
  const [, url] = /^ollie hub: listening on (\S+)$/.exec(await hub.stderr.next() ?? "") ?? [];
  const page = await (await fetch(`${url}/`)).text();
  for (const [, path] of page.matchAll(/(?:src|href)="(\/page\/[^"]+)"/g)) {
    const response = await fetch(`${url}${path}`);
    assert.equal(response.status, 200, path);
    await response.body?.cancel();
  }
  await says([...ollie, "pub", "--data", "green\n", `${url?.replace("http", "ws")}`, "color"], directory.path, []);
  await says([...ollie, "sub", "--count", "2", "bus"], directory.path, ["red", "green"]);
  assert.deepEqual(server.missing, []);
});

/** Where npm has put a program; `undefined` where it could not. */
function installed(name: string, version: string): string | undefined {
  if (!has("npx")) return undefined;
  const args = ["--yes", "--package", `${name}@${version}`, "--call", `command -v ${name}`];
  const { success, stdout } = new Deno.Command("npx", { args, stdin: "null", stderr: "null" }).outputSync();
  return success ? new TextDecoder().decode(stdout).trim() : undefined;
}

for (
  const [name, executable] of [["Node", installed("node", "22.23.3")], ["Bun", installed("bun", "1.4.5")]] as const
) {
  if (executable === undefined) console.error(`npm cannot install ${name} here: the package is not tried there`);
  Deno.test({
    name: `a program in ${name} takes the module as it is`,
    ignore: executable === undefined,
    async fn() {
      using directory = temporaryDirectory();
      copyTo(`${directory.path}/ollie`);
      Deno.writeTextFileSync(`${directory.path}/package.json`, '{"type":"module"}');
      await using hub = await startHub();
      const program = write(directory, "anywhere.js", "./ollie/");
      await says([executable ?? "", program, hub.url], directory.path, ELSEWHERE);
    },
  });
}

if (browserPath === undefined) console.error("there is no browser here: the package is not tried there");
Deno.test({
  name: "a page has the module, as one file",
  ignore: browserPath === undefined,
  async fn() {
    using directory = temporaryDirectory();
    await using server = new PackageServer();
    const bundle = `${directory.path}/bundle.js`;
    const program = write(directory, "anywhere.js", server.url);
    await says(deno("bundle", server, "--platform", "browser", "--output", bundle, program), directory.path, []);
    server.add(
      "page",
      '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/bundle.js"></script>',
    );
    server.add("bundle.js", Deno.readTextFileSync(bundle));
    await using hub = await startHub("mem:", { args: ["--allow-origin", new URL(server.url).origin] });

    const browser = await startBrowser();
    try {
      const page = await browser.newPage();
      const said: string[] = [];
      page.on("console", (message) => said.push(message.text()));
      page.on("pageerror", (error) => said.push(String(error)));
      const end = page.waitForEvent("console", { predicate: (message) => message.text() === "end", timeout: 60_000 });
      await page.goto(`${server.url}page#${hub.url}`);
      await end.catch(() => {});
      assert.deepEqual(said, ELSEWHERE);
    } finally {
      await browser.close();
    }
  },
});
