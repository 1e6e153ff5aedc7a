import assert from "node:assert/strict";
import fc from "fast-check";
import { formatName } from "../../../lib/bus/directory/name.ts";
import { NameSet } from "../../../lib/bus/directory/name_set.ts";

Deno.test("property: it holds what a Set would hold", () => {
  const name = fc.oneof(
    fc.tuple(fc.bigInt(0n, 3n).map((n) => n * 10n ** 9n), fc.nat(3)).map(([moment, n]) => formatName(moment, `t${n}`)),
    fc.bigInt(0n, 10n ** 19n).map((moment) => formatName(moment, "color")),
    fc.constantFrom("2026-05-03T03:09:37Z_a", "2026-05-03T03:09:37.0Z_a", "2026-05-03T03:09:37.1+0000_a"),
  );
  fc.assert(fc.property(fc.array(name, { maxLength: 300 }), (names) => {
    const set = new NameSet();
    const model = new Set<string>();
    for (const name of names) {
      assert.equal(set.has(name), model.has(name));
      assert.equal(set.add(name), !model.has(name));
      model.add(name);
    }
    assert.equal(set.size, model.size);
    assert(names.every((name) => set.has(name)));
  }));
});

Deno.test("it tells 300,000 names of one second apart", () => {
  const set = new NameSet();
  for (let i = 0; i < 300_000; i++) assert(set.add(`2026-05-08T12:34:56+00:00_job:${i}`));
  assert.equal(set.size, 300_000);
});

Deno.test("it tells 300,000 neighbouring names apart", () => {
  const set = new NameSet();
  const start = 1_777_777_777_000_000_000n;
  for (let i = 0n; i < 300_000n; i++) assert(set.add(formatName(start + i, "color")));
  for (let i = 0n; i < 300_000n; i += 7n) {
    assert(set.has(formatName(start + i, "color")));
    assert(!set.has(formatName(start + i, "colour")));
  }
  assert.equal(set.size, 300_000);
});
