/**
 * Other people's clients of the hub, as they come from npm: `ws`, the WebSocket of Node and of Bun, `eventsource`. And the hub
 * itself where other people's programs run: in Node behind `ws`, and in Bun.
 */
import assert from "node:assert/strict";
import { DirectoryBus } from "../../mod.ts";
import { has, Running } from "../cli/ollie.ts";
import { temporaryDirectory } from "../temporary.ts";
import { HubProcess } from "./hub_process.ts";
import { type Heard, RawWebSocket } from "./raw_websocket.ts";
import { RestartedHub } from "./running_hub.ts";

/** What npm brings: exactly these, so that a test that fails has something new to tell about the hub. */
const PACKAGES = ["ws@8.23.0", "eventsource@4.1.0", "node@22.23.3", "bun@1.4.5"];

/** Where npm has put them; `undefined` where it could not. */
function installed(): string | undefined {
  if (!has("npx")) return undefined;
  const args = ["--yes", ...PACKAGES.flatMap((name) => ["--package", name]), "--call", 'printf %s "$PATH"'];
  const { success, stdout } = new Deno.Command("npx", { args, stdin: "null", stderr: "null" }).outputSync();
  const [binaries] = new TextDecoder().decode(stdout).split(":");
  return success ? binaries.replace(/\/\.bin$/, "") : undefined;
}

const modules = installed();
if (modules === undefined) console.error(`npm cannot install ${PACKAGES.join(", ")} here: they are not tried`);
const ignore = modules === undefined;
const node = `${modules}/.bin/node`;
const bun = `${modules}/.bin/bun`;

/** Starts one of the programs in `clients/`. */
function start(runtime: string, program: string, ...args: readonly string[]): Running {
  const path = new URL(`clients/${program}`, import.meta.url).pathname;
  return new Running(["env", `NODE_PATH=${modules}`, runtime, path, ...args]);
}

/** Those that follow a topic and publish what is typed. */
const CLIENTS = [
  ["npm ws in Node", node, "ws_client.cjs"],
  ["the WebSocket of Node", node, "web_client.mjs"],
  ["the WebSocket of Bun", bun, "web_client.mjs"],
  ["npm ws in Bun", bun, "ws_client.cjs"],
] as const;

for (const [name, runtime, program] of CLIENTS) {
  Deno.test({
    name: `${name} follows a topic, publishes, and is told when the hub ends`,
    ignore,
    async fn() {
      using directory = temporaryDirectory();
      await using hub = await HubProcess.start(directory.path);
      const url = `ws://127.0.0.1:${hub.port}/`;
      await using plain = start(runtime, program, url, "color");
      await using batch = start(runtime, program, url, "color", "ollie.v1", "ollie.batch.v1");
      await using leaving = start(runtime, program, url, "color");
      assert.match(await plain.stderr.next() ?? "", /^protocol ?$/);
      assert.equal(await batch.stderr.next(), "protocol ollie.batch.v1");
      const pong = '{"type":"__pong","id":"","payload":null}';
      for (const client of [plain, batch, leaving]) assert.equal(await client.stdout.next(), pong);

      await plain.write('{"type":"color","payload":"é \u{1f534}\\n"}\n{"type":"number","payload":1}\n');
      const event = '{"type":"color","id":"","payload":"é \u{1f534}\\n"}';
      for (const client of [plain, batch, leaving]) assert.equal(await client.stdout.next(), event);
      await plain.write("nonsense\n");
      assert.match(await plain.stdout.next() ?? "", /^\{"type":"__error",.*this is not JSON/);

      // Larger than what a socket takes at once, and many at once.
      await using bus = new DirectoryBus(directory.path);
      const payloads = ["x".repeat(300_000), ...Array.from({ length: 500 }, (_, i) => `number ${i}`)];
      for (const payload of payloads) await bus.publish("color", payload);
      for (const client of [plain, batch]) {
        for (const payload of payloads) assert.equal(JSON.parse(await client.stdout.next() ?? "").payload, payload);
      }

      await leaving.closeInput();
      await hub.untilMetric("sockets", 2);
      hub.running.signal("SIGTERM");
      for (const client of [plain, batch]) assert.match(await client.stdout.next() ?? "", /^closed 1001 /);
      assert.equal((await hub.running.status).code, 0);
    },
  });
}

Deno.test({
  name: "npm eventsource resumes by itself where the hub was killed, and misses nothing",
  ignore,
  async fn() {
    using directory = temporaryDirectory();
    await using hub = await RestartedHub.start(directory.path);
    await using bus = new DirectoryBus(directory.path);
    await using source = start(node, "event_source.cjs", hub.url.replace("ws:", "http:") + "sub/color");
    assert.equal(await source.stdout.next(), "open");
    const heard = async () => JSON.parse(await source.stdout.next() ?? "").payload;
    for (let round = 0; round < 3; round++) {
      await bus.publish("color", `${round} while it runs`);
      assert.equal(await heard(), `${round} while it runs`);
      await hub.kill();
      await bus.publish("color", `${round} while it is away`);
      await hub.restart();
      assert.equal(await source.stdout.next(), "open");
      assert.equal(await heard(), `${round} while it is away`);
    }
  },
});

Deno.test({
  name: "npm eventsource is told that it may have missed something, where the hub keeps nothing and was killed",
  ignore,
  async fn() {
    await using hub = await RestartedHub.start("mem:");
    const url = hub.url.replace("ws:", "http:");
    await using source = start(node, "event_source.cjs", `${url}sub/color`);
    assert.equal(await source.stdout.next(), "open");
    const post = async (body: string) => {
      await (await fetch(`${url}pub/color`, { method: "POST", body })).text();
      return JSON.parse(await source.stdout.next() ?? "").payload;
    };
    assert.equal(await post("red"), "red");
    await hub.kill();
    await hub.restart();
    assert.equal(await source.stdout.next(), "open");
    assert.match(await source.stdout.next() ?? "", /^missed .*events may have been missed/);
    assert.equal(await post("blue"), "blue");
  },
});

for (
  const [name, runtime, program] of [["Node, behind npm ws", node, "ws_server.cjs"], ["Bun", bun, "bun_server.ts"]]
) {
  Deno.test({
    name: `the hub runs in ${name}, on sockets and a MessagePort, and ends who does not read`,
    ignore,
    async fn() {
      await using server = start(runtime, program);
      // Either may come first.
      const lines = await server.stdout.take(2);
      const port = Number(lines.find((line) => /^\d+$/.test(line ?? "")));
      assert(lines.includes('{"type":"port","id":"","payload":"é"}'), lines.join(" | "));
      using plain = await RawWebSocket.connect(port);
      using batch = await RawWebSocket.connect(port, { protocols: ["ollie.batch.v1"] });
      using sleeper = await RawWebSocket.connect(port);
      for (const peer of [plain, batch, sleeper]) await peer.subscribe("n", ">");
      assert.equal(batch.protocol, "ollie.batch.v1");

      // In text, and in binary.
      await plain.send({ opcode: 1, payload: '{"type":"n","payload":"é"}' }, {
        opcode: 2,
        payload: '{"type":"n","payload":1}',
      });
      await plain.send({ opcode: 1, payload: "nonsense" }, { opcode: 2, payload: Uint8Array.of(0xff) });
      const answers: Heard[] = await plain.take(4);
      assert.deepEqual(answers.map(({ type }) => type).sort(), ["__error", "__error", "n", "n"]);
      const had: unknown[] = [];
      while (had.length < 2) had.push(...(await batch.text()).split("\n").map((line) => JSON.parse(line).payload));
      assert.deepEqual(had, ["é", 1]);

      // In step with those who read, until the one that does not has been ended.
      const payload = "x".repeat(50_000);
      const count = 1000;
      for (let i = 0; i < count; i++) {
        await plain.say({ type: "n", payload: `${i} ${payload}` });
        assert((await plain.hear()).payload.startsWith(`${i} `));
        assert(JSON.parse(await batch.text()).payload.startsWith(`${i} `));
      }
      assert.equal((await sleeper.ending())?.code, 1013);
      await server.closeInput();
      assert.equal((await plain.ending())?.code, 1001);
      // They might answer; `ws` would wait half a minute for that.
      for (const peer of [plain, batch, sleeper]) peer[Symbol.dispose]();
      const stats = JSON.parse(await server.stdout.next() ?? "");
      assert.deepEqual(
        [stats.connections, stats.slowConsumers, stats.errors, stats.published, stats.queuedBytes],
        [0, 1, 2, count + 3, 0],
      );
      assert.equal((await server.status).code, 0);
    },
  });
}
