/** What subscribers to a directory are told of events that have been removed. */
import assert from "node:assert/strict";
import { prune } from "../../../lib/bus/directory/prune.ts";
import { markOf } from "../../../lib/bus/directory/order.ts";
import { DirectoryBus, GapError, type Position, type SubscribeOptions, type Subscription } from "../../../mod.ts";
import { within } from "../../deadline.ts";
import { temporaryDirectory } from "../../temporary.ts";
import { make, nameAt } from "./bus_files.ts";

/** The next few things that a subscription gives: ids of events, and in between `gap AFTER UNTIL`. */
async function told(subscription: Subscription, count: number): Promise<(string | undefined)[]> {
  const said: (string | undefined)[] = [];
  while (said.length < count) {
    try {
      said.push((await within(subscription.next(), `what comes ${said.length + 1}th of ${count}`)).value?.id);
    } catch (error) {
      if (!(error instanceof GapError)) throw error;
      said.push(gap(error.after, error.until.id));
    }
  }
  return said;
}

function gap(after: string | undefined, until: string): string {
  return `gap ${after} ${until}`;
}

/** All that a subscription gives that begins there, before an event that is published then. */
async function toldFrom(
  bus: DirectoryBus,
  from: SubscribeOptions["from"],
  filter = "n",
): Promise<(string | undefined)[]> {
  await using subscription = bus.subscribe([filter, "end"], { from });
  await subscription.ready;
  const { id } = await bus.publish("end", "");
  const said: (string | undefined)[] = [];
  while (said.at(-1) !== id) said.push(...await told(subscription, 1));
  Deno.removeSync(`${pathOf(bus)}/events/${id}`);
  return said.slice(0, -1);
}

const paths = new WeakMap<DirectoryBus, string>();

function pathOf(bus: DirectoryBus): string {
  return paths.get(bus) ?? "";
}

function busIn(path: string): DirectoryBus {
  const bus = new DirectoryBus(path);
  paths.set(bus, path);
  return bus;
}

const names = Array.from({ length: 10 }, (_, i) => nameAt(i));
const [a, b, c, d, e] = names;

Deno.test("who comes back to a place before what has been removed is told, in its place; who asks for what there is, is not", async () => {
  using directory = temporaryDirectory();
  await using bus = busIn(directory.path);
  make(directory.path, [a, b, c, d, e, nameAt(2, "other")]);
  await prune(directory.path, { keep: 2 });
  const left = [d, e];
  assert.deepEqual(await toldFrom(bus, "start"), left);
  assert.deepEqual(await toldFrom(bus, { last: 5 }), left);
  assert.deepEqual(await toldFrom(bus, "now"), []);
  assert.deepEqual(await toldFrom(bus, { after: a }), [gap(a, c), ...left]);
  assert.deepEqual(await toldFrom(bus, { after: b }), [gap(b, c), ...left]);
  assert.deepEqual(await toldFrom(bus, { after: c }), left);
  assert.deepEqual(await toldFrom(bus, { after: d }), [e]);
  assert.deepEqual(await toldFrom(bus, { after: undefined, seen: [] }), [gap(undefined, c), ...left]);
  // What is gone has been had, or is not wanted.
  assert.deepEqual(await toldFrom(bus, { after: undefined, seen: [a, b, c].map(markOf) }), left);
  assert.deepEqual(await toldFrom(bus, { after: markOf(a), seen: [b, c, d].map(markOf) }), [e]);
  assert.deepEqual(await toldFrom(bus, { after: markOf(a), seen: [], gone: markOf(c) }), left);
  assert.deepEqual(await toldFrom(bus, { after: a }, "third"), []);
  assert.deepEqual(await toldFrom(bus, { after: a }, "other"), [gap(a, nameAt(2, "other"))]);
});

Deno.test("an event that came late and was removed unseen is missed, and one that is there comes in its place", async () => {
  using directory = temporaryDirectory();
  await using bus = busIn(directory.path);
  make(directory.path, [a, c, e]);
  const position: Position = { after: markOf(a), seen: [markOf(c)] };
  // Published after c had been seen.
  make(directory.path, [b]);
  await prune(directory.path, { keep: 1 });
  assert.deepEqual(await toldFrom(bus, position), [gap(c, b), e]);
  const early = nameAt(0, "n.early");
  make(directory.path, [early]);
  assert.deepEqual(await toldFrom(bus, position, ">"), [early, gap(early, b), e]);
});

Deno.test("positions know what was gone when they were told", async () => {
  using directory = temporaryDirectory();
  await using bus = busIn(directory.path);
  make(directory.path, names);
  await prune(directory.path, { keep: 6 });
  for (const options of [{ from: "start" }, { window: 1e12 }, { window: 0 }] as const) {
    await using subscription = bus.subscribe("n", options);
    const position = await subscription.ready;
    assert.deepEqual(position?.gone, markOf(d));
    assert.deepEqual(await toldFrom(bus, position), "from" in options ? names.slice(4) : []);
  }
  await using subscription = bus.subscribe("n", { window: 0 });
  const position = await subscription.ready;
  const later = [nameAt(100), nameAt(101)];
  make(directory.path, later);
  await prune(directory.path, { keep: 1 });
  assert.deepEqual(await toldFrom(bus, position), [gap(names[9], later[0]), later[1]]);
});

Deno.test("events that are removed before a subscriber has read them are told of where they were", async () => {
  using directory = temporaryDirectory();
  await using bus = busIn(directory.path);
  make(directory.path, names);
  await using past = bus.subscribe("n", { from: { after: a } });
  await using all = bus.subscribe("n", { from: "start" });
  await Promise.all([past.ready, all.ready]);
  const remove = (...gone: string[]) => gone.forEach((name) => Deno.removeSync(`${directory.path}/events/${name}`));
  remove(a, b, c, names[5], names[6], names[9]);
  const common = [d, e, gap(e, names[6]), names[7], names[8], gap(names[8], names[9])];
  assert.deepEqual(await told(past, 7), [gap(a, c), ...common]);
  assert.deepEqual(await told(all, 6), common);
  // And of those that have just come.
  const { id } = await bus.publish("n", "1");
  remove(id);
  const { id: next } = await bus.publish("n", "2");
  for (const subscription of [past, all]) {
    assert.deepEqual(await told(subscription, 2), [gap(names[8], id), next]);
  }
});

Deno.test("a gap ends no loop that goes on, and the subscription least of all", async () => {
  using directory = temporaryDirectory();
  await using bus = busIn(directory.path);
  make(directory.path, names);
  await prune(directory.path, { keep: 2 });
  await using events = bus.subscribe("n", { from: { after: a } });
  await assert.rejects(
    async () => {
      for await (const _ of events) assert.fail("an event came before the gap");
    },
    new GapError(directory.path, { after: a, until: markOf(names[7]) }),
  );
  for await (const event of events) {
    assert.equal(event.id, names[8]);
    break;
  }
});

Deno.test("a kill at any moment leaves no gap that is not told of, and none that is none", async () => {
  using directory = temporaryDirectory();
  const program = `
    import { prune } from ${JSON.stringify(new URL("../../../lib/bus/directory/prune.ts", import.meta.url).href)};
    const removeSync = Deno.removeSync;
    let left = Number(Deno.args[1]);
    Deno.removeSync = (path) => {
      if (path.includes("/events/") && left-- === 0) Deno.kill(Deno.pid, "SIGKILL");
      removeSync(path);
    };
    await prune(Deno.args[0], { keep: 2 });`;
  const file = `${directory.path}/program.ts`;
  Deno.writeTextFileSync(file, program);
  for (const [removed, expected] of [[0, []], [1, [gap(undefined, a)]], [5, [gap(undefined, e)]]] as const) {
    const path = `${directory.path}/${removed}`;
    make(path, names);
    const { signal } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", file, path, `${removed}`],
    })
      .output();
    assert.equal(signal, "SIGKILL");
    const from = { after: undefined, seen: [] };
    {
      await using bus = busIn(path);
      assert.deepEqual(await toldFrom(bus, from), [...expected, ...names.slice(removed)]);
    }
    // The next one finishes the work, and takes nothing for granted.
    await prune(path, { keep: 4 });
    await using bus = busIn(path);
    assert.deepEqual(await toldFrom(bus, from), [gap(undefined, names[5]), ...names.slice(6)]);
  }
});

Deno.test("what cannot be read of what has been removed is said", async () => {
  using directory = temporaryDirectory();
  await using bus = busIn(directory.path);
  make(directory.path, names);
  Deno.writeTextFileSync(`${directory.path}/pruned`, "garbage");
  await using events = bus.subscribe("n", { from: { after: a } });
  await assert.rejects(events.next(), /cannot read from .*\/pruned what has been removed: it does not say/);
  // Who asks for nothing that came before need not know.
  await using now = bus.subscribe("n");
  await now.ready;
});
