/** What a wrapper does not allow: ollie says which permission it lacks, and for what. */
import assert from "node:assert/strict";
import { missingPermission } from "../../lib/os_error.ts";
import { temporaryDirectory } from "../temporary.ts";

const SOURCE = new URL("../../", import.meta.url).pathname;

/** Runs ollie from its source with these permissions and no others. Returns what it said. */
async function refused(permissions: readonly string[], args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--no-check", ...permissions, `${SOURCE}cli.ts`, ...args],
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const said = new TextDecoder().decode(stderr);
  assert.deepEqual([code, stdout.length], [1, 0], said);
  assert.match(said, /^[^\n]+\n$/, "one line");
  return said.trimEnd();
}

const FILES = ["--allow-read", "--allow-write"];

Deno.test("a directory that it may not write to, or not read, is named, and the option that allows it", async () => {
  using directory = temporaryDirectory();
  const bus = directory.path;
  const event = String.raw`\d{4}-\d\d-\d\dT[\d:]+,\d{9}\+00:00_color`;
  const refusals: [permissions: string[], args: string[], said: string][] = [
    [
      ["--allow-read"],
      ["pub", "-d", "x", bus, "color"],
      `ollie pub: cannot publish to ${bus}: Deno does not let this program write to ${bus}/tmp/${event}: ` +
      `start it with --allow-write=${bus}`,
    ],
    [
      ["--allow-write", `--allow-read=${bus}/tmp`],
      ["pub", "-d", "x", bus, "color"],
      `ollie pub: cannot publish to ${bus}: Deno does not let this program read ${bus}/events/${event}: ` +
      `start it with --allow-read=${bus}`,
    ],
    [
      ["--allow-read"],
      ["sub", `${bus}/new`],
      `ollie sub: cannot subscribe to ${bus}/new: Deno does not let this program write to ${bus}/new/events: ` +
      `start it with --allow-write=${bus}/new`,
    ],
    [
      ["--allow-write", `--allow-read=${SOURCE}lib`],
      ["sub", bus],
      `ollie sub: cannot subscribe to ${bus}: Deno does not let this program read ${bus}/events: ` +
      `start it with --allow-read=${bus}`,
    ],
    [
      ["--allow-read", `--allow-write=${bus}`],
      ["sub", "--cursor", "/nowhere/seen", bus],
      String
        .raw`ollie sub: cannot use the cursor /nowhere/seen: Deno does not let this program write to /nowhere/seen\.?\S*: ` +
      "start it with --allow-write=/nowhere/",
    ],
    [
      ["--allow-net", `--allow-read=${SOURCE}`],
      ["serve9p", "--listen", `unix:${bus}/socket`],
      `ollie serve9p: cannot listen at unix:${bus}/socket: Deno does not let this program read ${bus}/socket: ` +
      `start it with --allow-read=${bus}/`,
    ],
    [
      ["--allow-net", `--allow-read=${SOURCE}`],
      ["hub", "--listen", "127.0.0.1:0", bus],
      `ollie hub: cannot start the server: Deno does not let this program read ${bus}: start it with --allow-read=${bus}`,
    ],
    [
      ["--allow-net", ...FILES, `--deny-read=${bus}/tmp`],
      ["hub", "--listen", "127.0.0.1:0", bus],
      `ollie hub: cannot start the server: Deno does not let this program read ${bus}: start it with --allow-read=${bus}`,
    ],
    [
      ["--allow-net", `--allow-read=${SOURCE}`],
      ["hub", "--tokens", "/nowhere/tokens"],
      "ollie hub: cannot read --tokens /nowhere/tokens: Deno does not let this program read /nowhere/tokens: " +
      "start it with --allow-read=/nowhere/tokens",
    ],
  ];
  for (const [permissions, args, said] of refusals) {
    assert.match(await refused(permissions, args), new RegExp(`^${said}$`), args.join(" "));
  }
});

Deno.test("so are a place in the network, and a variable of the environment", async () => {
  const address = "127.0.0.1:5640";
  const net = `Deno does not let this program use the network at ${address}: start it with --allow-net=${address}`;
  const refusals: [args: string[], said: string][] = [
    [["serve9p", "--listen", `tcp:${address}`], `ollie serve9p: cannot start the server: ${net}`],
    [["hub", "--listen", address], `ollie hub: cannot start the server: ${net}`],
    [["9p", "-a", `tcp:${address}`, "read", "event"], `ollie 9p: cannot connect to tcp:${address}: ${net}`],
    [["pub", "-d", "x", `tcp:${address}`], `ollie pub: cannot connect to tcp:${address}: ${net}`],
    [["sub", `ws://${address}`], `ollie sub: cannot connect to ws://${address}/: ${net}`],
    [["pub", "-d", "x", `ws://${address}`], `ollie pub: cannot connect to ws://${address}/: ${net}`],
    [
      ["9p", "read", "event"],
      "ollie 9p: cannot find the server's address, which --address did not give: Deno does not let this program read the " +
      "environment variable OLLIE_9P: start it with --allow-env=OLLIE_9P",
    ],
  ];
  for (const [args, said] of refusals) assert.equal(await refused(FILES, args), said);
});

Deno.test("a socket is a file, and to some releases of Deno a part of the network", async () => {
  using directory = temporaryDirectory();
  const address = `unix:${directory.path}/socket`;
  assert.equal(
    await refused([`--allow-read=${SOURCE}`], ["sub", address]),
    `ollie sub: cannot connect to ${address}: Deno does not let this program read ${directory.path}/socket: ` +
      `start it with --allow-read=${directory.path}/socket`,
  );
  const said = await refused(FILES, ["sub", address]);
  assert(
    [
      `ollie sub: cannot connect to ${address}: no such file or directory`,
      `ollie sub: cannot connect to ${address}: Deno does not let this program use the network at ${address}: ` +
      "start it with --allow-net",
    ].includes(said),
    said,
  );
});

Deno.test("what ollie cannot read of itself is named, too; the help needs no permission", async () => {
  for (
    const [args, module] of [
      [["hub"], "lib/cli/hub.ts"],
      [["completions", "bash"], "lib/cli/completions.ts"],
      [["pub", "-d", "x", "ws://127.0.0.1:1"], "lib/open.ts"],
    ] as const
  ) {
    assert.equal(
      await refused([], args),
      `ollie ${args[0]}: cannot load a part of ollie: Deno does not let this program read ${SOURCE}${module}: ` +
        `start it with --allow-read=${SOURCE}`,
    );
  }
  const help = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--no-check", `${SOURCE}cli.ts`, "--help"],
  }).output();
  assert.equal(help.code, 0);
});

Deno.test("whatever a name holds, what is said of it is right", () => {
  const requires = (what: string, kind = "read") =>
    missingPermission(`Requires ${kind} access to "${what}", run again with the --allow-${kind} flag`);
  assert.equal(requires("/a b"), "Deno does not let this program read /a b: start it with --allow-read");
  assert.equal(requires("/a,b"), "Deno does not let this program read /a,b: start it with --allow-read");
  assert.equal(
    requires('/a"\n, run again'),
    'Deno does not let this program read /a"\n, run again: start it with --allow-read',
  );
  assert.equal(
    requires("[::1]:80", "net"),
    "Deno does not let this program use the network at [::1]:80: " +
      "start it with --allow-net=[::1]:80",
  );
  assert.equal(
    requires("example.com:443", "import"),
    "Deno does not let this program load modules from example.com:443: start it with --allow-import=example.com:443",
  );
  assert.equal(requires("/bin/sh", "run"), "Deno does not let this program do that: start it with --allow-run");
  assert.equal(
    missingPermission(
      'Requires net access to "a:1", specify the required permissions during compilation using `deno compile --allow-net`',
    ),
    "Deno does not let this program use the network at a:1: start it with --allow-net=a:1",
  );
  assert.equal(
    missingPermission("Requires sys access, run again with the --allow-sys flag"),
    "Deno does not let this program do that: start it with --allow-sys",
  );
  assert.equal(missingPermission("No such file or directory (os error 2)"), undefined);
});
