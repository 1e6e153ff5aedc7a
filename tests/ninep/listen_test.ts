import assert from "node:assert/strict";
import { BusError } from "../../mod.ts";
import { connectTo, formatNinepAddress, parseNinepAddress } from "../../lib/ninep/address.ts";
import { listenAt } from "../../lib/ninep/listen.ts";
import { temporaryDirectory } from "../temporary.ts";

Deno.test("an address is read as it is written", () => {
  for (const address of ["unix:/run/ollie", "unix:s", "tcp:127.0.0.1:5640", "tcp:[::1]:5640", "tcp:example.org:1"]) {
    assert.equal(formatNinepAddress(parseNinepAddress(address)), address);
  }
  assert.equal(formatNinepAddress(parseNinepAddress("unix!/run/ollie")), "unix:/run/ollie");
  assert.equal(formatNinepAddress(parseNinepAddress("tcp!localhost!5640")), "tcp:localhost:5640");
  for (const address of ["tcp:5640", "tcp::5640"]) {
    assert.equal(formatNinepAddress(parseNinepAddress(address)), "tcp:127.0.0.1:5640");
  }
  for (const address of ["", "unix:", "tcp:", "tcp:host:", "tcp:host:65536", "tcp:a:b:1", "udp:a:1", "/run/ollie"]) {
    assert.throws(() => parseNinepAddress(address), BusError, address);
  }
});

for (const before of ["there is nothing", "a server has left its socket behind"] as const) {
  Deno.test(`of servers that begin at once, where ${before}, one listens and the others are told`, async () => {
    for (let round = 0; round < 20; round++) {
      using directory = temporaryDirectory();
      const path = `${directory.path}/s`;
      if (before !== "there is nothing") {
        const listener = Deno.listen({ transport: "unix", path: `${path}1` });
        Deno.linkSync(`${path}1`, path);
        listener.close();
      }
      const all = await Promise.allSettled(
        Array.from({ length: 4 }, () => listenAt({ transport: "unix", path }, 0o600)),
      );
      const listening = all.flatMap((outcome) => outcome.status === "fulfilled" ? [outcome.value] : []);
      assert.equal(listening.length, 1);
      for (const outcome of all) {
        if (outcome.status === "rejected") assert.match(String(outcome.reason), /another server does/);
      }
      const [accepted, connected] = await Promise.all([
        listening[0].accept(),
        connectTo({ transport: "unix", path }),
      ]);
      accepted?.close();
      connected.close();
      listening[0][Symbol.dispose]();
      const left = [...Deno.readDirSync(directory.path)].map(({ name }) => name);
      // Some releases remove the name that a listener was made under, and some do not.
      assert.deepEqual(left.filter((name) => name !== "s1"), []);
    }
  });
}
