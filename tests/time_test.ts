import assert from "node:assert/strict";
import fc from "fast-check";
import { formatTime, increasing, systemClock } from "../lib/time.ts";

Deno.test("property: a time is written as Date writes it, to the nanosecond", () => {
  const milliseconds = fc.nat({ max: Date.UTC(9999, 11, 31, 23, 59, 59, 999) });
  fc.assert(
    fc.property(milliseconds, fc.nat({ max: 999_999 }), (millisecond, nanosecond) => {
      const expected = new Date(millisecond).toISOString().replace("Z", `${String(nanosecond).padStart(6, "0")}Z`);
      assert.equal(formatTime(BigInt(millisecond) * 1_000_000n + BigInt(nanosecond)), expected);
    }),
    { numRuns: 10_000 },
  );
});

Deno.test("the days around leap days are right", () => {
  for (
    const date of ["1970-01-01", "2000-02-29", "2000-03-01", "2024-02-29", "2100-02-28", "2100-03-01", "2026-12-31"]
  ) {
    const moment = BigInt(Date.parse(`${date}T23:59:59Z`)) * 1_000_000n + 5n;
    assert.equal(formatTime(moment), `${date}T23:59:59.000000005Z`);
  }
});

Deno.test("the system's clock tells the system's time", () => {
  for (let i = 0; i < 1000; i++) {
    const before = Date.now();
    const now = Number(systemClock() / 1_000_000n);
    assert(now >= before - 3 && now <= Date.now() + 3, `${now} is not near ${before}`);
  }
});

Deno.test("an increasing clock never repeats itself, whatever the clock beneath it does", () => {
  const readings = [5n, 5n, 5n, 3n, 9n, 8n, 20n];
  const clock = increasing(() => readings.shift() ?? 0n);
  assert.deepEqual(Array.from({ length: 8 }, clock), [5n, 6n, 7n, 8n, 9n, 10n, 20n, 21n]);
});
