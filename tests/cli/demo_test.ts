/** `deno task demo`: that what it says to try works, and that nothing is left of it, however it ends. */
import assert from "node:assert/strict";
import { openBus } from "../../mod.ts";
import { until } from "../deadline.ts";
import { exists, temporaryDirectory } from "../temporary.ts";
import { has, Running, shell } from "./ollie.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const { tasks } = JSON.parse(Deno.readTextFileSync(`${ROOT}deno.json`));
const [, ...words]: string[] = tasks.demo.command.split(" ");

/** What the task runs, so that it is the demo itself that a test has to do with. */
const DEMO = [Deno.execPath(), ...words.map((word) => word === "demo/main.ts" ? ROOT + word : word)];
/** What people type. */
const TASK = [Deno.execPath(), "task", "--quiet", "--cwd", ROOT, "demo"];

/** A demo that runs, and what it has said. */
interface Demo extends AsyncDisposable {
  readonly running: Running;
  readonly directory: string;
  readonly url: string;
  /** What there is to try. */
  readonly commands: readonly string[];
  /** The processes that have to do with it. */
  pids(): number[];
  /** Waits until nothing is left. */
  gone(): Promise<void>;
}

async function startDemo(command: readonly string[] = DEMO): Promise<Demo> {
  const running = new Running(command);
  const said: string[] = [];
  for (let line; (line = (await running.stdout.next())?.trimEnd()) !== undefined;) {
    said.push(line);
    if (line.startsWith("Ctrl-C")) break;
  }
  const directory = /removes (.+)\.$/.exec(said.at(-1) ?? "")?.[1];
  if (directory === undefined) throw new Error(`the demo has ended: ${(await running.stderr.rest()).join("\n")}`);
  const url = /in a browser, at (\S+)\/$/.exec(said[0])?.[1] ?? "";
  const demo = {
    running,
    directory,
    url,
    commands: said.slice(2, -1).filter((line) => line !== "" && !line.startsWith("#")),
    pids: () => processesIn(directory),
    gone: () => until(`the end of ${directory}`, () => !exists(directory) && processesIn(directory).length === 0),
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await demo.gone();
    },
  };
  return demo;
}

/** The processes that have to do with a directory, as their command lines have it. */
function processesIn(directory: string): number[] {
  const pids = [...Deno.readDirSync("/proc")].map(({ name }) => Number(name)).filter((pid) => pid > 0);
  return pids.filter((pid) => {
    try {
      const words = Deno.readTextFileSync(`/proc/${pid}/cmdline`).split("\0");
      return words.some((word) => word === directory || word.includes(`${directory}/`));
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
}

Deno.test("each command that the demo names does what it says, from anywhere", async () => {
  await using demo = await startDemo();
  assert.equal(demo.commands.length, 4);
  const [sessions, chat, orders, said] = await paste(demo.commands);
  assert.match(sessions, /^session\.\w+\.state (planning|working|idle)\n$/);
  assert.match(chat, /^message\.sent:conv-\d+ .+\n$/);
  assert.match(JSON.parse(orders).topic, /^(order\.(created|shipped))$/);
  assert.equal(said, "");
  await using bus = await openBus(`${demo.directory}/bus`);
  for await (const { payload } of bus.subscribe("message.sent:conv-123", { from: "start" })) {
    if (new TextDecoder().decode(payload) === "hello\n") break;
  }
  assert.match(await (await fetch(demo.url)).text(), /<title>.*Ollie/);
});

/** Pastes commands into shells that have been elsewhere. What watches ends when nobody reads it any more. */
function paste(commands: readonly string[]): Promise<string[]> {
  return Promise.all(commands.map(async (command) => {
    const { stdout, stderr } = await shell(`cd /; ${command} | head -n 1`);
    assert.equal(stderr, "");
    return stdout;
  }));
}

for (const [signal, status] of [["SIGTERM", 0], ["SIGHUP", 0], ["SIGINT", 130]] as const) {
  Deno.test(`${signal} ends the demo with ${status}, and before it, all that it has started`, async () => {
    await using demo = await startDemo();
    assert.equal(demo.pids().length, 3);
    demo.running.signal(signal);
    assert.equal((await demo.running.status).code, status);
    assert.deepEqual([demo.pids(), exists(demo.directory)], [[], false]);
    assert.deepEqual(await demo.running.stderr.rest(), []);
  });
}

Deno.test("when the demo is killed, its keeper ends the rest", async () => {
  await using demo = await startDemo();
  demo.running.signal("SIGKILL");
  await demo.gone();
});

Deno.test("when the task that runs the demo is killed, the demo ends", async () => {
  await using demo = await startDemo(TASK);
  demo.running.signal("SIGKILL");
  await demo.gone();
});

Deno.test("when a server ends by itself, the demo says so, and ends", async () => {
  await using demo = await startDemo();
  const [hub] = demo.pids().filter((pid) => Deno.readTextFileSync(`/proc/${pid}/cmdline`).includes("\0hub\0"));
  Deno.kill(hub, "SIGKILL");
  assert.equal((await demo.running.status).code, 1);
  assert.deepEqual([demo.pids(), exists(demo.directory)], [[], false]);
  assert.deepEqual(await demo.running.stderr.rest(), ["demo: ollie hub has ended by itself (SIGKILL)"]);
});

Deno.test("two demos do not get into each other's way, nor into that of whoever has the port", async () => {
  using directory = temporaryDirectory();
  const temporary = `${directory.path}/it's full`;
  Deno.mkdirSync(temporary);
  await using first = await startDemo();
  await using second = await startDemo(["env", `TMPDIR=${temporary}`, ...DEMO]);
  assert.equal(second.directory.slice(0, temporary.length), temporary);
  assert.notEqual(first.url, second.url);
  const answers = await paste(second.commands);
  assert.deepEqual(answers.map((answer) => answer.slice(0, 7)), ["session", "message", '{"id":"', ""]);
});

Deno.test("a demo that cannot start says why, and leaves nothing", async () => {
  using directory = temporaryDirectory();
  const [program, ...args] = DEMO;
  const broken = `${directory.path}/ollie`;
  Deno.writeTextFileSync(broken, '#!/bin/sh\necho "out of order: $*" >&2; exit 1\n', { mode: 0o700 });
  const { code, stderr } = await new Deno.Command(program, { args, env: { OLLIE: broken } }).output();
  const [, stage] =
    /^demo: out of order: serve9p --listen unix:(\S+)\/9p \S+\n$/.exec(new TextDecoder().decode(stderr)) ?? [];
  assert.equal(code, 1);
  assert.notEqual(stage, undefined);
  assert(!exists(stage));
});

for (
  const [what, end] of [
    ["Ctrl-C", (terminal: Running) => terminal.write("\x03")],
    ["that the terminal is closed", (terminal: Running) => Promise.resolve(terminal.signal("SIGKILL"))],
  ] as const
) {
  Deno.test({
    name: `in a terminal, ${what} ends the demo without a word`,
    ignore: !has("script"),
    fn: async () => {
      await using demo = await startDemo(["script", "--quiet", "--return", "--command", TASK.join(" "), "/dev/null"]);
      await end(demo.running);
      const { code } = await demo.running.status;
      await demo.gone();
      if (what !== "Ctrl-C") return;
      assert.equal(code, 130);
      assert.deepEqual((await demo.running.stdout.rest()).map((line) => line.trim()), []);
    },
  });
}
