/** A Go program as the client: the loop in go/main.go, which knows nothing of Ollie, follows a stream of events. */
import assert from "node:assert/strict";
import { until, within } from "../deadline.ts";
import { has, Running, startServer } from "../cli/ollie.ts";
import { NinepBus } from "../../mod.ts";
import { NinepClient } from "../../lib/ninep/client.ts";
import { temporaryDirectory } from "../temporary.ts";

const ignore = !has("go");
if (ignore) console.error("there is no go on this machine: what is written in it is not tried as a client");

Deno.test({
  name: "a loop in Go reads what matches its filter, over a unix socket and over TCP, by reads and by lines",
  ignore,
  fn: async () => {
    using directory = temporaryDirectory();
    const program = `${directory.path}/follow`;
    const source = new URL("go", import.meta.url).pathname;
    const build = new Deno.Command("go", { args: ["build", "-o", program, "."], cwd: source, stderr: "piped" });
    const { success, stderr } = await within(build.output(), "the end of go build", 300_000);
    assert(success, new TextDecoder().decode(stderr));

    const ways = [[`unix:${directory.path}/s`], ["tcp:127.0.0.1:0"], [`unix:${directory.path}/s`, "lines"]] as const;
    for (const [listen, ...words] of ways) {
      const { running, address } = await startServer("--listen", listen);
      await using _ = running;
      await using follow = new Running([program, address, "color session.>", "3", ...words]);
      await using client = await NinepClient.connect(address);
      await until("the subscription", async () => {
        await using stats = await client.open("stats", "read");
        return new TextDecoder().decode(await stats.read()).includes("subscriptions 1\n");
      });
      await using bus = new NinepBus(address);
      for (const topic of ["color", "number", "session.a", "color"]) await bus.publish(topic, `about ${topic}`);
      assert.deepEqual(await follow.stdout.take(3), [
        "color about color",
        "session.a about session.a",
        "color about color",
      ]);
      assert.equal((await follow.status).code, 0);
    }
  },
});
