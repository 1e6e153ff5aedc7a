/** The README's table of permissions: the flags that it gives suffice, and none of their values can be left out. */
import assert from "node:assert/strict";
import { flagsOf, permissionTable, type Use, USES } from "../../docs/permissions.ts";
import { ollie, Running, startServer } from "../cli/ollie.ts";
import { HubProcess } from "../hub/hub_process.ts";
import { ignore, NatsServer } from "../nats_server.ts";
import { exists, temporaryDirectory } from "../temporary.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** For an older Deno a socket in the file system is no part of the network, and its address no value of a flag. */
const socketsAreNetwork = new Deno.Command(Deno.execPath(), {
  args: ["run", "--allow-net=unix:/s", "-"],
  stdin: "null",
  stderr: "null",
}).outputSync().success;

/** What a use needs that is there already, and what its words stand for. */
interface Stage extends AsyncDisposable {
  /** Puts what is there in the place of what the table names. */
  set(text: string): string;
}

async function stage(use: string): Promise<Stage> {
  const all = new AsyncDisposableStack();
  const { path } = all.use(temporaryDirectory());
  for (const name of ["tmp", "run", "home"]) Deno.mkdirSync(`${path}/${name}`);
  const bus = `${path}/tmp/a`;
  await ollie(["pub", "-d", "red", bus, "color"]);
  const there: Record<string, string> = {
    "/tmp/a": bus,
    "/tmp/b": `${path}/tmp/b`,
    "/tmp": `${path}/tmp`,
    "/run/ollie": `${path}/run/ollie`,
    "/run": `${path}/run`,
    "/home/me": `${path}/home`,
    "lib": `${ROOT}lib`,
    "5640": freePort(),
    "8080": freePort(),
  };
  if (!isServer(use.split(" ")[0])) {
    const { running } = await startServer("--listen", `unix:${there["/run/ollie"]}`, "--listen", "tcp:0", bus);
    all.use(running);
    const tcp = await running.stderr.next();
    there["HOST:5640"] = /127\.0\.0\.1:\d+/.exec(tcp ?? "")?.[0] ?? "";
    there["HOST:8080"] = `127.0.0.1:${all.use(await HubProcess.start(bus)).port}`;
  }
  if (use.includes("nats:")) {
    const { port } = all.use(await NatsServer.start({ jetStream: true }));
    there["HOST:4222"] = `127.0.0.1:${port}`;
    await ollie(["pub", "-d", "red", "--stream", "EVENTS", "--create-stream", `nats://127.0.0.1:${port}/app`]);
  }
  const words = new RegExp(Object.keys(there).sort((a, b) => b.length - a.length).join("|"), "g");
  return {
    set: (text) => text.replace(words, (word) => there[word]),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function freePort(): string {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return String(listener.addr.port);
}

/** Starts ollie from its source with some flags, and says whether it did what it is for; if not, what it said. */
async function attempt(flags: Use["flags"], args: readonly string[], address: string): Promise<true | string> {
  const words = ["run", "--quiet", "--no-prompt", ...flagsOf(flags), `${ROOT}cli.ts`, ...args];
  if (isServer(args[0]) || args[0] === "link") {
    // A link makes something of its directory the first time only.
    if (args[0] === "link" && exists(args[1])) Deno.removeSync(args[1], { recursive: true });
    await using running = new Running([Deno.execPath(), ...words]);
    const line = await running.stderr.next();
    return / (listening on|copying from) /.test(line ?? "") || `${line}\n`;
  }
  // One that goes on where another attempt has ended is to find something.
  await ollie(["pub", "-d", "red", address, "color"]);
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: words,
    env: { NO_COLOR: "1", OLLIE_9P: address },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  return success || new TextDecoder().decode(stderr);
}

function isServer(subcommand: string): boolean {
  return subcommand === "hub" || subcommand === "serve9p";
}

/** The same flags with one value less, for each value. */
function* less(flags: Use["flags"]): Generator<Use["flags"]> {
  for (const [name, list] of Object.entries(flags)) {
    const { [name]: _, ...others } = flags;
    const values = list.split(",");
    if (values.length === 1) yield others;
    else for (const value of values) yield { ...flags, [name]: values.filter((other) => other !== value).join(",") };
  }
}

Deno.test("the README has the table as it is made", () => {
  // As it is formatted, its columns are aligned.
  const plain = (text: string) => text.replace(/-+/g, "-").replace(/ +/g, " ");
  const readme = Deno.readTextFileSync(`${ROOT}README.md`);
  assert(plain(readme).includes(plain(permissionTable())), "deno task permissions prints what it should have");
});

for (const use of USES) {
  Deno.test(`ollie ${use.args} needs the permissions that the table gives it, and no fewer`, {
    ignore: use.args.includes("nats:") && ignore,
  }, async () => {
    const words = use.args.split(" ");
    await using there = await stage(use.args);
    const args = words.map(there.set);
    const flags = Object.fromEntries(
      Object.entries(use.flags)
        .filter(([, value]) => socketsAreNetwork || !value.startsWith("unix:"))
        .map(([name, value]) => [name, there.set(value)]),
    );
    const address = there.set("unix:/run/ollie");
    assert.equal(await attempt(flags, args, address), true);
    for (const fewer of less(flags)) {
      if (!socketsAreNetwork && fewer.net === undefined && flags.net === "") continue;
      const said = await attempt(fewer, args, address);
      assert.match(String(said), /^ollie[^\n]* --allow-\w+[^\n]*\n$/, flagsOf(fewer).join(" "));
    }
  });
}
