import assert from "node:assert/strict";
import { startRetention } from "../../../lib/bus/directory/retention.ts";
import { DirectoryBus } from "../../../mod.ts";
import { until } from "../../deadline.ts";
import { temporaryDirectory } from "../../temporary.ts";

Deno.test("a directory is kept within its limits again and again, once it is there, until that is no longer wanted", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/bus`;
  const names = () => [...Deno.readDirSync(`${path}/events`)].map(({ name }) => name).sort();
  const setTimeout = globalThis.setTimeout;
  const waits: number[] = [];
  // A minute is short for a server, and long for a test.
  globalThis.setTimeout = ((run: () => void, wait = 0) => {
    waits.push(wait);
    return setTimeout(run, wait >= 60_000 ? 5 : wait);
  }) as typeof setTimeout;
  try {
    const said: string[] = [];
    await using bus = new DirectoryBus(path);
    {
      using _ = startRetention(path, { keep: 2 }, (message) => said.push(message));
      await until("a second look", () => Promise.resolve(waits.filter((wait) => wait >= 60_000).length >= 2));
      const ids: string[] = [];
      for (let round = 0; round < 3; round++) {
        for (let i = 0; i < 5; i++) ids.push((await bus.publish("n", String(i))).id);
        await until("two events", () => Promise.resolve(names().length === 2));
        assert.deepEqual(names(), ids.slice(-2));
      }
      for (const wait of waits) assert(wait < 60_000 || wait <= 600_000, "ten minutes at most");
    }
    await bus.publish("n", "kept");
    const count = waits.length;
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(names().length, 3);
    assert.equal(waits.length, count, "nothing waits any more");
    assert.deepEqual(said, []);
  } finally {
    globalThis.setTimeout = setTimeout;
  }
});
