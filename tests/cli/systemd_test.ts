/** The units in docs/systemd: that systemd takes them, how far it trusts them, and that their command lines are true. */
import assert from "node:assert/strict";
import { temporaryDirectory } from "../temporary.ts";
import { has, OLLIE, ollie, Running } from "./ollie.ts";

const UNITS = new URL("../../docs/systemd/", import.meta.url).pathname;
const ignore = !has("systemd-analyze");

/** Runs `systemd-analyze`, and returns what it says, without the colours that some releases do not leave out. */
function analyze(...args: readonly string[]): { code: number; said: string } {
  const { code, stdout, stderr } = new Deno.Command("systemd-analyze", {
    args: [...args],
    env: { SYSTEMD_COLORS: "0", SYSTEMD_PAGER: "" },
  }).outputSync();
  return { code, said: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

/** The unit's settings. One that is given twice has its last value here. */
function settingsOf(unit: string): Record<string, string> {
  const lines = Deno.readTextFileSync(UNITS + unit).split("\n").filter((line) => /^\w+=/.test(line));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}

/** As root, what the unit runs without any privilege is run without any here; the user stays, who can read the source. */
const UNPRIVILEGED = Deno.uid() === 0 && has("setpriv")
  ? ["setpriv", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"]
  : [];

/** Starts what the unit starts, for the bus `shop`, with the directories that the unit has in another root. */
function startUnit(unit: string, root: string, options: readonly string[]): Running {
  const settings = settingsOf(unit);
  const directories = (kind: string, below: string) => {
    for (const path of settings[`${kind}Directory`]?.replaceAll("%i", "shop").split(" ") ?? []) {
      Deno.mkdirSync(`${root}${below}/${path}`, { recursive: true });
      Deno.chmodSync(`${root}${below}/${path}`, parseInt(settings[`${kind}DirectoryMode`], 8));
    }
  };
  directories("State", "/var/lib");
  directories("Runtime", "/run");
  const [program, ...words] = settings["ExecStart"].replaceAll("%i", "shop").split(" ");
  assert.equal(program, "/usr/local/bin/ollie");
  const args = words.flatMap((word) =>
    word === "$OPTIONS" ? options : word.replace(/(?=\/(run|var\/lib)\/ollie)/, root)
  );
  return new Running([
    ...["sh", "-c", `umask ${settings["UMask"]} && exec "$@"`, "-"],
    ...[...UNPRIVILEGED, ...OLLIE, ...args],
  ]);
}

function modeOf(path: string): string {
  return ((Deno.lstatSync(path).mode ?? 0) & 0o7777).toString(8);
}

for (const [unit, exposure] of [["ollie-hub@.service", 15], ["ollie-serve9p@.service", 10]] as const) {
  Deno.test({
    name: `systemd has nothing to say against ${unit}, and its exposure is at most ${exposure} of 100`,
    ignore,
    fn: () => {
      using directory = temporaryDirectory();
      // There need not be an executable on this machine.
      const text = Deno.readTextFileSync(UNITS + unit).replace("/usr/local/bin/ollie", "/bin/true");
      const path = `${directory.path}/${unit.replace("@", "@shop")}`;
      Deno.writeTextFileSync(path, text);
      // Units of the machine itself, which this one depends on, may be worse.
      const { code, said } = analyze("verify", "--man=no", "--recursive-errors=no", path);
      assert.deepEqual([code, said.split("\n").filter((line) => line.includes("ollie"))], [0, []]);
      const exposed = analyze("security", "--offline=true", `--threshold=${exposure}`, path);
      assert.equal(exposed.code, 0, exposed.said);
    },
  });
}

Deno.test("what the units start serves the bus, as files that the group may read, and to the group", async () => {
  using directory = temporaryDirectory();
  const root = directory.path;
  await using hub = startUnit("ollie-hub@.service", root, ["--listen", "0"]);
  const [, url] = /^ollie hub: listening on (\S+)$/.exec(await hub.stderr.next() ?? "") ?? [];
  await using server = startUnit("ollie-serve9p@.service", root, []);
  const socket = `${root}/run/ollie/shop/9p`;
  assert.equal(await server.stderr.next(), `ollie serve9p: listening on unix:${socket}`);
  assert.equal(modeOf(socket), "660");

  await using sub = await Running.sub("-m", "-f", "text", `unix:${socket}`);
  const published = await fetch(`${url}/pub/color`, { method: "POST", body: "red" });
  const { id } = await published.json();
  assert.equal(await sub.stdout.next(), "color red");
  const bus = `${root}/var/lib/ollie/shop`;
  assert.equal(modeOf(`${bus}/events/${id}`), "660");
  assert.equal((await ollie(["pub", "-d", "blue", bus, "color"])).code, 0);
  assert.equal(await sub.stdout.next(), "color blue");

  for (const running of [hub, server]) {
    running.signal("SIGTERM");
    assert.equal((await running.status).code, 0);
  }
  assert.deepEqual([...Deno.readDirSync(`${root}/run/ollie/shop`)], [], "nothing is left in the unit's directory");
});
