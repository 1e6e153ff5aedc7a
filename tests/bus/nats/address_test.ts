import assert from "node:assert/strict";
import { BusError, openBus } from "../../../mod.ts";
import { parseNatsAddress } from "../../../lib/bus/nats/address.ts";
import { withoutLogin } from "../../../lib/address.ts";

Deno.test("an address is taken apart", () => {
  for (
    const [address, servers, prefix, login] of [
      ["nats://localhost/a", ["localhost:4222"], "a", undefined],
      ["NATS://127.0.0.1:5000/a.b", ["127.0.0.1:5000"], "a.b", undefined],
      ["nats://a:1,b,[::1]:3/x", ["a:1", "b:4222", "[::1]:3"], "x", undefined],
      ["nats://me:s%40cret@h/x", ["h:4222"], "x", { user: "me", pass: "s@cret" }],
      ["nats://me:a@b/c:d@h/x", ["h:4222"], "x", { user: "me", pass: "a@b/c:d" }],
      ["nats://me:@h/x", ["h:4222"], "x", { user: "me", pass: "" }],
      ["nats://100%@h/x", ["h:4222"], "x", { token: "100%" }],
    ] as const
  ) {
    const parsed = parseNatsAddress(address);
    assert.deepEqual([parsed.servers, parsed.prefix, parsed.login, parsed.tls], [servers, prefix, login, false]);
    assert(!parsed.shown.includes("@"), parsed.shown);
  }
  assert.equal(parseNatsAddress("tls://h/x").tls, true);
});

Deno.test("what is no address is refused, and the password in it not shown", async () => {
  for (
    const [address, reason] of [
      ["nats:h/x", /does not begin with nats:/],
      ["nats://h", /says no prefix/],
      ["nats://h/", /says no prefix/],
      ["nats:///x", /no list of hosts/],
      ["nats://h:0/x", /no list of hosts/],
      ["nats://h:70000/x", /no list of hosts/],
      ["nats://a,,b/x", /no list of hosts/],
      ["nats://a b/x", /no list of hosts/],
      ["nats://h/a/b", /"a\/b" is no prefix/],
      ["nats://h/a..b", /is no prefix/],
      ["nats://h/a.*", /is no prefix/],
      ["nats://h/a b", /is no prefix/],
      ["nats://h/$JS.x", /is no prefix/],
      ["nats://h/_INBOX", /is no prefix/],
      [`nats://h/${"x".repeat(201)}`, /at most 200 bytes/],
      ["nats://h/x?stream=a", /a stream is named by an option/],
    ] as const
  ) {
    await assert.rejects(openBus(address), (error) => error instanceof BusError && reason.test(error.message), address);
    const withPassword = address.replace("//", "//me:hunter2@");
    await assert.rejects(openBus(withPassword), (error: Error) => !/hunter2/.test(error.message));
  }
  for (const address of ["nat://me:hunter2@h/x", "nats:me:hunter2@h/x", "nats//me:hunter2@h/x"]) {
    await openBus(address).catch((error) => assert(!/hunter2/.test(error.message), error.message));
  }
});

Deno.test("a login is left out of whatever text an address stands in", () => {
  for (
    const [text, shown] of [
      ["nats://me:hunter2@h/x", "nats://h/x"],
      ['"ws://:t0ken@h:80/" is no bus, nor is "tls://a@b"', '"ws://h:80/" is no bus, nor is "tls://b"'],
      ["no such user me@example.com at nats://h/x", "no such user me@example.com at nats://h/x"],
      ['(nats://me:a/b@c"d@h/x)', "(nats://h/x)"],
    ]
  ) assert.equal(withoutLogin(text), shown);
});
