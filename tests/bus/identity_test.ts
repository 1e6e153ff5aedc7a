/** Which bus is which, by whatever address, and on which buses an event has been. */
import assert from "node:assert/strict";
import { NatsBus } from "../../lib/bus/nats.ts";
import { newIdentity } from "../../lib/identity.ts";
import { type Bus, BusError, DirectoryBus, MemoryBus } from "../../mod.ts";
import { ignore, NatsServer } from "../nats_server.ts";
import { exists, temporaryDirectory } from "../temporary.ts";
import { take } from "./reading.ts";

Deno.test("each mem: bus has an identity of its own, and a directory keeps its", async () => {
  using directory = temporaryDirectory();
  const memory = new MemoryBus();
  const path = `${directory.path}/a`;
  const identities = [
    await memory.identity(),
    await new MemoryBus().identity(),
    await new DirectoryBus(path).identity(),
  ];
  assert.equal(new Set(identities).size, 3);
  assert.equal(await memory.identity(), identities[0]);
  assert.equal(await new DirectoryBus(path).identity(), identities[2]);
  assert.equal(Deno.readTextFileSync(`${path}/id`), `${identities[2]}\n`);
  assert.deepEqual([...Deno.readDirSync(`${path}/tmp`)], []);
  // It goes where the directory does.
  Deno.renameSync(path, `${directory.path}/b`);
  assert.equal(await new DirectoryBus(`${directory.path}/b`).identity(), identities[2]);
});

Deno.test("those who ask at the same moment for what there is not yet are told the same", async () => {
  using directory = temporaryDirectory();
  const program = `
    import { DirectoryBus } from ${JSON.stringify(new URL("../../mod.ts", import.meta.url).href)};
    await Deno.stdin.read(new Uint8Array(1));
    console.log(await new DirectoryBus(Deno.args[0]).identity());`;
  const file = `${directory.path}/program.ts`;
  Deno.writeTextFileSync(file, program);
  const children = Array.from({ length: 4 }, () =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-check", "-A", file, `${directory.path}/bus`],
      stdin: "piped",
      stdout: "piped",
    }).spawn());
  for (const { stdin } of children) await stdin.close();
  const told = await Promise.all(
    children.map(async (child) => new TextDecoder().decode((await child.output()).stdout)),
  );
  assert.match(told[0], /^[0-9a-f]{32}\n$/);
  assert.deepEqual(new Set(told).size, 1);
});

Deno.test("a file that holds no identity is said to, and so is one that cannot be made", async () => {
  using directory = temporaryDirectory();
  const { path } = directory;
  Deno.writeTextFileSync(`${path}/id`, "");
  await assert.rejects(
    new DirectoryBus(path).identity(),
    new BusError(
      `cannot tell which bus ${path} is by ${path}/id: it does not hold 32 hexadecimal digits, as it should; it can be removed`,
    ),
  );
  await assert.rejects(new DirectoryBus(`${path}/id`).identity(), /cannot tell which bus .*: it is not a directory$/);
});

/** Publishes an event that has been elsewhere, and one that has not, and finds out what is told of them. */
async function checkVia(bus: Bus): Promise<void> {
  const via = [newIdentity(), newIdentity()];
  await using events = bus.subscribe(">");
  await events.ready;
  await bus.publish("n", "1", { via });
  await bus.publish("n", "2");
  const [linked, plain] = await take(events, 2);
  assert.deepEqual([linked.via, "via" in plain], [via, false]);
}

Deno.test("an event keeps its way on mem: and in a directory", async () => {
  using directory = temporaryDirectory();
  await checkVia(new MemoryBus());
  await using bus = new DirectoryBus(directory.path);
  await checkVia(bus);
  const [linked, plain] = Array.from(Deno.readDirSync(`${directory.path}/events`), ({ name }) => name).sort();
  assert.match(linked, /^[^+]*Z_n$/);
  assert.match(plain, /\+00:00_n$/);
  assert.deepEqual(Array.from(Deno.readDirSync(`${directory.path}/via`), ({ name }) => name), [linked]);

  // What others have spelt so, and what is damaged, has no way.
  Deno.writeTextFileSync(`${directory.path}/via/${linked}`, "x\n");
  Deno.writeTextFileSync(`${directory.path}/events/2026-05-08T12:34:56,123456789Z_n`, "0");
  await using events = new DirectoryBus(directory.path).subscribe("n", { from: "start" });
  assert(!(await take(events, 3)).some((event) => "via" in event));
});

Deno.test("an event that cannot be published leaves nothing of its way", async () => {
  using directory = temporaryDirectory();
  const bus = new DirectoryBus(directory.path);
  Deno.mkdirSync(`${directory.path}/tmp`);
  Deno.writeTextFileSync(`${directory.path}/events`, "");
  await assert.rejects(bus.publish("n", "1", { via: [newIdentity()] }), BusError);
  assert.deepEqual([...Deno.readDirSync(`${directory.path}/tmp`)], []);
  assert(!exists(`${directory.path}/via`) || [...Deno.readDirSync(`${directory.path}/via`)].length === 0);
});

Deno.test({
  name: "NATS: a stream is the same for all, until it is made anew; and a prefix, or a server, is another bus",
  ignore,
  fn: async () => {
    await using server = await NatsServer.start({ jetStream: true });
    const options = { stream: "EVENTS", createStream: true };
    const identityOf = async (prefix: string, how: typeof options | Record<never, never> = options) => {
      await using bus = new NatsBus(server.url(prefix), how);
      return await bus.identity();
    };
    const first = await identityOf("a");
    assert.equal(await identityOf("a"), first);
    const others = [await identityOf("a", {}), await identityOf("b", {}), await identityOf("a.b")];
    assert.equal(new Set([first, ...others]).size, 4);
    await using bus = new NatsBus(server.url("a"), options);
    await checkVia(bus);
    await using live = new NatsBus(server.url("c"));
    await checkVia(live);
    await server.administer(({ streams }) => streams.delete("EVENTS"));
    assert.notEqual(await identityOf("a"), first);
  },
});

Deno.test({
  name: "NATS: a stream finds out by what an event is known by that it has it; its time is that of the stream",
  ignore,
  fn: async () => {
    await using server = await NatsServer.start({ jetStream: true });
    await using bus = new NatsBus(server.url(), { stream: "EVENTS", createStream: true });
    const before = new Date().toISOString();
    const first = await bus.publish("n", "1", { deduplicationId: "a/2026_\n\ud800é" });
    const again = await bus.publish("n", "1", { deduplicationId: "a/2026_\n\ud800é" });
    const other = await bus.publish("n", "2", { deduplicationId: "b" });
    assert.equal(again.id, first.id);
    await using events = bus.subscribe(">", { from: "start" });
    const told = await take(events, 2);
    assert.deepEqual(told.map(({ id }) => id), [first.id, other.id]);
    assert(told.every(({ time }) => time >= before && time <= new Date(Date.now() + 1000).toISOString()));
    // A server alone keeps nothing that it could find out by.
    await using live = new NatsBus(server.url("live"));
    const ids = [1, 2].map(() => live.publish("n", "1", { deduplicationId: "a" }));
    assert.equal(new Set((await Promise.all(ids)).map(({ id }) => id)).size, 2);
  },
});
