import assert from "node:assert/strict";
import { ArrivalLog } from "../../../lib/bus/directory/log.ts";

Deno.test("positions stay right when the log forgets its beginning, and it forgets what all have read", () => {
  const log = new ArrivalLog();
  const reader = { position: 0 };
  for (let i = 0; i < 100_000; i++) {
    assert.equal(log.push(`${i}`), i);
    // A reader that is now and then far behind.
    if (i % 5000 === 0) reader.position = i;
    log.trim([reader, { position: Infinity }]);
    assert.equal(log.at(reader.position), `${reader.position}`);
  }
  assert.equal(log.end, 100_000);
  assert.equal(log.from(reader.position).length, 100_000 - reader.position);
  assert(log.size < 15_000, `${log.size} names are held for a reader that is 5,000 behind at most`);
  log.clear();
  assert.equal(log.push("next"), 100_000);
});
