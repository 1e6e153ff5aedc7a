/** What a server may reach: it is all that it needs, however that is named, and if it cannot be had, it is said why. */
import assert from "node:assert/strict";
import { relative } from "node:path";
import { exists, temporaryDirectory } from "../temporary.ts";
import { ollie, Running, startListening, startServer } from "./ollie.ts";

/** Names of files that mean something else elsewhere: in a URL, a shell, or a list of permissions. */
const NAMES = ["plain", "with space", "comma,comma", "per%63ent", "ümlaut", "colon:colon", "~", "[1]*"];

Deno.test("a bus, and where it is served, may have any name, and may be named from where the server runs", async () => {
  using directory = temporaryDirectory();
  for (const root of [directory.path, relative(Deno.cwd(), directory.path)]) {
    for (const name of NAMES) {
      const { running, address } = await startServer("--listen", `unix:${root}/${name}`, `${root}/${name}.bus`);
      await using _server = running;
      await using sub = await Running.sub("-f", "text", address);
      const { running: hub, address: url } = await startListening("hub", ["--listen", "0", address]);
      await using _hub = hub;
      const { stderr } = await ollie(["pub", "-d", "red", url.replace("http", "ws"), "color"]);
      assert.equal(stderr, "");
      assert.equal(await sub.stdout.next(), "color red");
      running.signal("SIGTERM");
      assert.equal((await running.status).code, 0);
      assert(!exists(`${root}/${name}`));
    }
  }
});

Deno.test("a host that there cannot be is no fault of ours", async () => {
  for (const host of ["*", "a b", "x,y"]) {
    for (
      const args of [
        ["hub", "--anonymous", "--listen", `${host}:0`],
        ["serve9p", "--listen", `tcp:${host}:0`],
        ["hub", "--listen", "0", `tcp:${host}:1`],
      ]
    ) {
      const { code, stderr } = await ollie(args);
      assert.equal(code, 1);
      assert.equal(
        stderr,
        `ollie ${args[0]}: cannot start the server: invalid host '${host}': invalid char found in FQDN\n`,
      );
    }
  }
});
