import assert from "node:assert/strict";
import { parseAge, parseBytes, parseCount, parseDuration, parseTimeout } from "../../lib/cli/quantity.ts";

Deno.test("counts", () => {
  assert.equal(parseCount("10", "-c"), 10);
  for (const text of ["0", "-1", "1.5", "x", "", "1e3", "99999999999999999999"]) {
    assert.throws(() => parseCount(text, "--count"), /--count takes a whole number from 1, not "/);
  }
});

Deno.test("amounts of bytes", () => {
  const amounts: [string, number][] = [["1", 1], ["64K", 65_536], ["64kB", 65_536], ["1MiB", 1_048_576], [
    "2g",
    2 ** 31,
  ]];
  for (const [text, bytes] of amounts) assert.equal(parseBytes(text, "--max-bytes"), bytes, text);
  for (const text of ["", "0", "0K", "K", "1.5M", "-1", "1T", "1 K", "99999999999G"]) {
    assert.throws(
      () => parseBytes(text, "--max-bytes"),
      /--max-bytes takes a number of bytes such as 65536, 64K or 1M, not "/,
    );
  }
});

Deno.test("lengths of time", () => {
  const durations: [string, number][] = [
    ["5", 5000],
    ["500ms", 500],
    ["1.5s", 1500],
    [".5s", 500],
    ["2m", 120_000],
    ["1h", 3_600_000],
    ["7d", 604_800_000],
    ["3650d", 315_360_000_000],
    ["0", 0],
  ];
  for (const [text, milliseconds] of durations) assert.equal(parseDuration(text, "-W"), milliseconds, text);
  assert.throws(() => parseDuration("36501d", "--older-than"), /--older-than takes at most 36500d, not "36501d"/);
  assert.equal(parseTimeout("24d", "--timeout"), 2_073_600_000);
  assert.throws(() => parseTimeout("25d", "--timeout"), /--timeout takes at most 24d, not "25d"/);
  for (const text of ["", "s", "5 s", "-1s", "1y", "1h30m", "Infinity"]) {
    assert.throws(
      () => parseDuration(text, "--timeout"),
      /--timeout takes a duration such as 500ms, 5s, 2m or 1h, not "/,
    );
  }
});

Deno.test("ages have a unit", () => {
  assert.equal(parseAge("7d", "--older-than"), 604_800_000);
  for (const text of ["30", "0", ".5", "1w", ""]) {
    assert.throws(
      () => parseAge(text, "--older-than"),
      /--older-than takes a duration with its unit, such as 12h, /,
      text,
    );
  }
});
