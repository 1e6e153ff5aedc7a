import assert from "node:assert/strict";
import { HubProcess } from "../hub/hub_process.ts";
import { ollie, startServer } from "./ollie.ts";

const names = Deno.build.os === "linux"
  ? (port: number) => ` (ss -ltnp 'sport = :${port}' names the program)`
  : undefined;

async function refusals(port: number): Promise<string[]> {
  const refused = await Promise.all([
    ollie(["hub", "--listen", String(port)]),
    ollie(["serve9p", "--listen", `tcp:${port}`]),
  ]);
  return refused.map(({ code, stdout, stderr }) => {
    assert.deepEqual([code, stdout], [1, ""]);
    return stderr;
  });
}

Deno.test({
  name: "where an address is in use, it is said who might hold it",
  ignore: names === undefined,
  async fn() {
    await using hub = await HubProcess.start();
    const { running, address } = await startServer("--listen", "tcp:127.0.0.1:0");
    await using _ = running;
    const ninepPort = Number(address.split(":").pop());
    using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    for (
      const [port, holder] of [
        [hub.port, "perhaps by another ollie hub"],
        [ninepPort, "by a 9P server, perhaps another ollie serve9p"],
        [silent.addr.port, "by another program"],
      ] as const
    ) {
      assert.deepEqual(await refusals(port), [
        `ollie hub: cannot listen on 127.0.0.1:${port}: the address is in use, ${holder}${names?.(port)}\n`,
        `ollie serve9p: cannot listen at tcp:127.0.0.1:${port}: the address is in use, ${holder}${names?.(port)}\n`,
      ]);
    }
  },
});
