/** The client of a hub where other people's programs run: Node and Bun, which take its source as it is. */
import assert from "node:assert/strict";
import { HubBus, Spoke } from "../../mod.ts";
import { has, Running } from "../cli/ollie.ts";
import { within } from "../deadline.ts";
import { take } from "../bus/reading.ts";
import { RestartedHub } from "../hub/running_hub.ts";
import { temporaryDirectory } from "../temporary.ts";

const program = new URL("spoke/program.mjs", import.meta.url).pathname;

/** Where npm has put a program, which it may have to fetch first; `undefined` if it cannot. */
function installed(name: string, version: string): string | undefined {
  if (!has("npx")) return undefined;
  const args = ["-y", "-p", `${name}@${version}`, "-c", `command -v ${name}`];
  const { success, stdout } = new Deno.Command("npx", { args, stdin: "null", stderr: "null" }).outputSync();
  if (success) return new TextDecoder().decode(stdout).trim();
}

const runtimes: [name: string, executable: string | undefined, args: readonly string[]][] = [
  ["Deno", Deno.execPath(), ["run", "--quiet", "--no-prompt", "--allow-net"]],
  ["Node", installed("node", "22"), []],
  ["Bun", installed("bun", "1"), []],
];

for (const [name, executable, args] of runtimes) {
  if (executable === undefined) console.error(`npm cannot install ${name} here: it is not tried as a client`);
  Deno.test({
    name: `a program in ${name} has a Spoke and a HubBus, which survive a kill of the hub, and let it end`,
    ignore: executable === undefined,
    async fn() {
      using directory = temporaryDirectory();
      await using hub = await RestartedHub.start(directory.path);
      await using there = new Running([executable ?? "", ...args, program, hub.url]);
      assert.equal(await there.stdout.next(), "ready");

      await using spoke = new Spoke(hub.url);
      await using bus = new HubBus(hub.url);
      await using answers = bus.subscribe("answer.bus");
      await answers.ready;
      let asked = 0;
      let answered: (detail: unknown) => void = () => {};
      spoke.addEventListener<{ detail: [number, unknown] }>("answer.spoke", ({ detail }) => {
        // The answer to an earlier question may come again, if the hub was killed before it had told that it has it.
        if (detail.detail[0] === asked) answered(detail);
      });
      await within(spoke.ready, "readiness");

      for (let round = 0; round < 2; round++) {
        for (const value of [null, "red", 12.5, { text: "é\u2028\n", list: [1, [2]] }]) {
          const detail = [++asked, value];
          const answer = new Promise((resolve) => answered = resolve);
          spoke.dispatchEvent(new CustomEvent("ask.room:kitchen", { detail }));
          assert.deepEqual(await within(answer, "an answer"), { topic: "ask.room:kitchen", hasId: true, detail });
        }
        for (const payload of [[], [0, 255, 10], [...new TextEncoder().encode("0.1")]]) {
          await bus.publish("ask.bytes", Uint8Array.from(payload));
          const [answer] = await take(answers, 1);
          assert.deepEqual([...answer.payload], payload.toReversed());
          // Else it might be killed before it has told the program so, which would then publish that again.
          assert.equal(await there.stdout.next(), "published");
        }
        if (round > 0) break;
        await hub.kill();
        assert.equal(await there.stdout.next(), "disconnected");
        await hub.restart();
        assert.equal(await there.stdout.next(), "ready");
        await within(spoke.ready, "readiness");
      }
      spoke.dispatchEvent(new CustomEvent("stop"));
      assert.equal(await there.stdout.next(), "stopped");
      assert.equal((await within(there.status, "the end of the program")).code, 0);
    },
  });
}
