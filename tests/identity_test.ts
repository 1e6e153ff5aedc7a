import assert from "node:assert/strict";
import { identityOf, isIdentity, isVia, MAX_HOPS, newIdentity } from "../lib/identity.ts";

Deno.test("an identity is 32 hexadecimal digits: new ones differ, and those of a name are always the same", async () => {
  const identities = [newIdentity(), newIdentity(), await identityOf("a"), await identityOf("b")];
  assert.equal(new Set(identities).size, 4);
  assert(identities.every(isIdentity), identities.join());
  assert.equal(await identityOf("a"), identities[2]);
  for (const other of ["", "a", identities[0].toUpperCase(), `${identities[0]}0`, `${identities[0]}\n`, 5, null]) {
    assert(!isIdentity(other), JSON.stringify(other));
  }
});

Deno.test("a way leads over some buses, and not over too many", () => {
  const one = newIdentity();
  assert(isVia([one]) && isVia(Array(MAX_HOPS).fill(one)));
  for (const other of [[], [one, "x"], Array(MAX_HOPS + 1).fill(one), one, null, {}]) assert(!isVia(other));
});
