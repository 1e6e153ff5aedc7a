/** What running ollie leaves behind: nothing where anybody could have put it before. */
import assert from "node:assert/strict";
import { temporaryDirectory } from "../temporary.ts";
import { ollie } from "./ollie.ts";

Deno.test("ollie keeps nothing in the directory for temporary files, which is everybody's", async () => {
  using bus = temporaryDirectory();
  using everybodys = temporaryDirectory();
  const env = { TMPDIR: everybodys.path };
  assert.equal((await ollie(["pub", "-d", "red", bus.path], { env })).code, 0);
  assert.equal((await ollie(["sub", bus.path], { env })).stdout, "red");
  assert.equal((await ollie(["--version"], { env })).code, 0);
  assert.deepEqual([...Deno.readDirSync(everybodys.path)], []);
});
