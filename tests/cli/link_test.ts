/** `ollie link`: what scripts publish gets elsewhere, whatever is killed, and comes to rest in circles. */
import assert from "node:assert/strict";
import { DirectoryBus, openBus } from "../../mod.ts";
import { take } from "../bus/reading.ts";
import { until, within } from "../deadline.ts";
import { HubProcess } from "../hub/hub_process.ts";
import { exists, temporaryDirectory } from "../temporary.ts";
import { ollie, Running, startServer } from "./ollie.ts";

/** The events of a directory, in the order of their names. */
function namesIn(bus: string): string[] {
  return exists(`${bus}/events`) ? Array.from(Deno.readDirSync(`${bus}/events`), ({ name }) => name).sort() : [];
}

/** Their payloads. */
function payloadsIn(bus: string): string[] {
  return namesIn(bus).map((name) => Deno.readTextFileSync(`${bus}/events/${name}`));
}

/** Ends a link, and tells what it has said since it began, when all that is under way has arrived. */
async function end(link: Running): Promise<string[]> {
  link.signal("SIGTERM");
  assert.equal((await within(link.status, "the end of the link")).code, 0);
  return await link.stderr.rest();
}

Deno.test("what is published from now on is copied, to the byte and in order; what does not match is not", async () => {
  using directory = temporaryDirectory();
  const [a, b] = ["a", "b"].map((name) => `${directory.path}/${name}`);
  await ollie(["pub", "-d", "old", a, "color"]);
  await using link = await Running.link("-e", "color", "-e", "session.>", a, b);
  await using bus = new DirectoryBus(a);
  const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => i % 256);
  await bus.publish("number", "none");
  await bus.publish("session.a.b", bytes);
  for (let i = 0; i < 500; i++) await bus.publish("color", `${i}`);
  await until("all of them", () => namesIn(b).length === 501);
  const [first, ...others] = namesIn(b);
  assert.match(first, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{9}Z_session\.a\.b$/);
  assert.deepEqual(Deno.readFileSync(`${b}/events/${first}`), bytes);
  assert.deepEqual(payloadsIn(b).slice(1), Array.from({ length: 500 }, (_, i) => `${i}`));
  assert(others.every((name) => name.endsWith("Z_color")));
  assert.deepEqual(await end(link), []);

  // Who subscribes there notices nothing of it.
  const { stdout } = await ollie(["sub", "-e", "color", "-f", "json", b]);
  assert.deepEqual(Object.keys(JSON.parse(stdout)), ["id", "time", "topic", "payload"]);
});

Deno.test("a topic that only a directory can have is copied as a word, and one that nobody can have is told of", async () => {
  using directory = temporaryDirectory();
  const [a, b] = ["a", "b"].map((name) => `${directory.path}/${name}`);
  Deno.mkdirSync(`${a}/events`, { recursive: true });
  const at = (second: number, topic: string) => `${a}/events/2026-05-08T12:34:0${second}.5Z_${topic}`;
  Deno.writeTextFileSync(at(1, "two words"), "1");
  Deno.writeTextFileSync(at(2, "a..b"), "2");
  Deno.writeTextFileSync(at(3, "__x"), "3");
  Deno.mkdirSync(at(4, "no-file"));
  await using link = await Running.link("--cursor", `${directory.path}/cursor`, a, b);
  await until("two events", () => namesIn(b).length === 2);
  assert.deepEqual(namesIn(b).map((name) => name.slice(name.indexOf("_") + 1)), ["two%2520words", "%255F_x"]);
  const [said, ...more] = await end(link);
  assert.match(
    said,
    /^ollie link: the event "2026-05-08T12:34:02\.5Z_a\.\.b" is not copied: the topic "a\.\.b" has an /,
  );
  assert.deepEqual(more, []);
});

Deno.test("with a cursor, all that there is is copied at first, and then what came since the last run", async () => {
  using directory = temporaryDirectory();
  const [a, b] = ["a", "b"].map((name) => `${directory.path}/${name}`);
  await using bus = new DirectoryBus(a);
  const all: string[] = [];
  for (let run = 0; run < 3; run++) {
    for (let i = 0; i < 20; i++) {
      all.push(`${run}.${i}`);
      await bus.publish("n", `${run}.${i}`);
    }
    await using link = await Running.link("--cursor", `${directory.path}/cursor`, a, b);
    await until("all so far", () => namesIn(b).length >= all.length);
    assert.deepEqual(await end(link), []);
    assert.deepEqual(payloadsIn(b), all);
  }
  // Another process can have neither the cursor...
  await using link = await Running.link("--cursor", `${directory.path}/cursor`, a, b);
  const { code, stderr } = await ollie(["link", "--cursor", `${directory.path}/cursor`, a, b]);
  assert.deepEqual([code, stderr.includes("another process is using it")], [1, true]);
  link.signal("SIGINT");
  assert.equal((await link.status).code, 130);
});

Deno.test("in circles of two and of three, each event is once on each bus, and nothing goes on", async () => {
  for (const names of [["a", "b"], ["a", "b", "c"]]) {
    using directory = temporaryDirectory();
    const buses = names.map((name) => `${directory.path}/${name}`);
    await using links = new AsyncDisposableStack();
    const running: Running[] = [];
    for (const [i, from] of buses.entries()) {
      const to = buses[(i + 1) % buses.length];
      running.push(links.use(await Running.link("--cursor", `${directory.path}/cursor${i}`, from, to)));
    }
    const count = 200;
    await Promise.all(buses.map(async (path, side) => {
      await using bus = new DirectoryBus(path);
      for (let i = 0; i < count; i++) {
        await bus.publish(`n.${side}`, `${side}.${i}`);
        if (i % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }));
    const total = count * buses.length;
    for (const bus of buses) await until(`${total} events`, () => namesIn(bus).length >= total);
    // What came last has been around before this has, if anything goes around.
    await ollie(["pub", "-d", "last", buses[0], "n.last"]);
    for (const bus of buses) await until("the last one", () => namesIn(bus).some((name) => name.endsWith("_n.last")));
    for (const link of running) assert.deepEqual(await end(link), []);
    const expected = buses.flatMap((_, side) => Array.from({ length: count }, (_, i) => `${side}.${i}`));
    for (const bus of buses) {
      const payloads = payloadsIn(bus);
      assert.deepEqual(payloads.toSorted(), [...expected, "last"].sort(), `${bus} of ${names}`);
      // Those of one side are in order everywhere.
      for (const side of buses.keys()) {
        const ours = payloads.filter((payload) => payload.startsWith(`${side}.`));
        assert.deepEqual(ours, Array.from({ length: count }, (_, i) => `${side}.${i}`));
      }
      assert.equal(Array.from(Deno.readDirSync(`${bus}/via`)).length, total + 1 - count - (bus === buses[0] ? 1 : 0));
    }
  }
});

Deno.test("a link that is killed again and again loses nothing, and repeats little", async () => {
  using directory = temporaryDirectory();
  const [a, b] = ["a", "b"].map((name) => `${directory.path}/${name}`);
  const count = 5000;
  const kills = 10;
  const publishing = (async () => {
    await using bus = new DirectoryBus(a);
    for (let i = 0; i < count; i++) {
      await bus.publish("n", `${i}`);
      if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  for (let run = 0; run < kills; run++) {
    await using link = await Running.link("--cursor", `${directory.path}/cursor`, a, b);
    const before = namesIn(b).length;
    const most = Math.floor(Math.random() * count / kills);
    await until("some more", () => namesIn(b).length >= Math.min(count, before + most));
    link.signal("SIGKILL");
  }
  await publishing;
  await using link = await Running.link("--cursor", `${directory.path}/cursor`, a, b);
  const copied = () => new Set(payloadsIn(b));
  await until("all of them", () => namesIn(b).length >= count && copied().size === count);
  assert.deepEqual(await end(link), []);
  // As many as are under way at a time, which are few where the target is a directory.
  assert(namesIn(b).length <= count + 50 * kills, `${namesIn(b).length - count} are repeated`);
});

for (
  const [what, serve] of [
    ["a hub", async (bus: string, directory: string) => {
      const port = exists(`${directory}/port`) ? Deno.readTextFileSync(`${directory}/port`) : "0";
      const hub = await HubProcess.start("--listen", `127.0.0.1:${port}`, bus);
      Deno.writeTextFileSync(`${directory}/port`, `${hub.port}`);
      return { running: hub.running, address: hub.url.replace("http", "ws") };
    }],
    ["a 9P server", (bus: string, directory: string) => startServer("--listen", `unix:${directory}/s`, bus)],
  ] as const
) {
  Deno.test(`${what} as the target: it may go, and be back; and the events come through it to a second link`, async () => {
    using directory = temporaryDirectory();
    const [a, b] = ["a", "b"].map((name) => `${directory.path}/${name}`);
    const first = await serve(b, directory.path);
    await using there = await Running.link(a, first.address);
    await using bus = new DirectoryBus(a);
    await bus.publish("n", "1");
    await until("the first", () => namesIn(b).length === 1);
    await first.running[Symbol.asyncDispose]();
    for (let i = 2; i < 100; i++) await bus.publish("n", `${i}`);
    assert.match(
      await there.stderr.next() ?? "",
      /it is tried again until it works|does not answer; what is to be copied waits/,
    );
    const second = await serve(b, directory.path);
    await using _server = second.running;
    assert.equal(await there.stderr.next(), `ollie link: ${first.address} is back`);
    await until("all of them", () => namesIn(b).length >= 99);
    // A hub may have taken what it could no longer acknowledge.
    assert.deepEqual([...new Set(payloadsIn(b))], Array.from({ length: 99 }, (_, i) => `${i + 1}`));

    // The way back is one, too.
    await using back = await Running.link(first.address, a);
    await ollie(["pub", "-d", "from b", b, "n"]);
    await until("the one from b", () => payloadsIn(a).at(-1) === "from b");
    await bus.publish("n", "from a");
    await until("the one from a", () => payloadsIn(b).at(-1) === "from a");
    assert.deepEqual([await end(there), await end(back)], [[], []]);
    assert.deepEqual(payloadsIn(a).slice(-2), ["from b", "from a"]);
    assert.deepEqual(payloadsIn(b).slice(-2), ["from b", "from a"]);
  });

  Deno.test(`${what} as the source: with a cursor nothing is lost, whatever it does`, async () => {
    using directory = temporaryDirectory();
    const [a, b] = ["a", "b"].map((name) => `${directory.path}/${name}`);
    const first = await serve(a, directory.path);
    await using bus = new DirectoryBus(a);
    await bus.publish("n", "0");
    await using link = await Running.link("--cursor", `${directory.path}/cursor`, first.address, b);
    await until("the first", () => namesIn(b).length === 1);
    await first.running[Symbol.asyncDispose]();
    for (let i = 1; i < 100; i++) await bus.publish("n", `${i}`);
    await using _server = (await serve(a, directory.path)).running;
    for (let i = 100; i < 200; i++) await bus.publish("n", `${i}`);
    await until("all of them", () => namesIn(b).length >= 200);
    await end(link);
    assert.deepEqual(payloadsIn(b), Array.from({ length: 200 }, (_, i) => `${i}`));
  });

  Deno.test(`${what} that is what it serves, and one that keeps nothing, are refused`, async () => {
    using directory = temporaryDirectory();
    const a = `${directory.path}/a`;
    const server = await serve(a, directory.path);
    {
      await using _server = server.running;
      for (const [from, to] of [[a, server.address], [server.address, a]]) {
        const { code, stderr } = await ollie(["link", from, to]);
        assert.equal(code, 1);
        assert.equal(stderr, `ollie link: ${from} and ${to} are the same bus: a link is from one bus to another\n`);
      }
    }
    await using _other = (await serve("mem:", directory.path)).running;
    const { code, stderr } = await ollie(["link", "--cursor", `${directory.path}/cursor`, server.address, a]);
    assert.equal(code, 1);
    assert.match(stderr, /^ollie link: [^\n]*keeps no events[^\n]*\n$/);
  });
}

Deno.test("a target that is stopped costs no memory, and gets all when it goes on", async () => {
  using directory = temporaryDirectory();
  const [a, b] = ["a", "b"].map((name) => `${directory.path}/${name}`);
  const { running: server, address } = await startServer("--listen", `unix:${directory.path}/s`, b);
  await using _server = server;
  await using link = await Running.link(a, address);
  await using bus = new DirectoryBus(a);
  await bus.publish("n", "first");
  await until("the first", () => namesIn(b).length === 1);
  const before = link.peakMemory;
  server.signal("SIGSTOP");
  const count = 3000;
  for (let i = 0; i < count; i++) await bus.publish("n", `${i} ${"x".repeat(30_000)}`);
  assert.equal(await link.stderr.next(), `ollie link: ${address} does not answer; what is to be copied waits`);
  const grown = link.peakMemory - before;
  server.signal("SIGCONT");
  assert.equal(await link.stderr.next(), `ollie link: ${address} is back`);
  await until("all of them", () => namesIn(b).length === count + 1);
  assert.deepEqual(await end(link), []);
  assert(grown < 60_000_000, `${grown} bytes more`);
});

Deno.test("what the target does not take is told of, and what follows is copied", async () => {
  using directory = temporaryDirectory();
  const a = `${directory.path}/a`;
  const tokens = `${directory.path}/tokens`;
  Deno.writeTextFileSync(tokens, "secret link pub=color.>\n");
  await using hub = await HubProcess.start("--max-message", "1K", "--tokens", tokens, `${directory.path}/b`);
  const address = `ws://:secret@127.0.0.1:${hub.port}`;
  await using link = await Running.link(a, address);
  await using bus = new DirectoryBus(a);
  await bus.publish("color.a", "x".repeat(2000));
  await bus.publish("number", "1");
  await bus.publish("color.b", "red");
  await until("the last", () => namesIn(`${directory.path}/b`).length === 1);
  const said = await end(link);
  assert.equal(said.length, 2);
  assert.match(
    said[0],
    /^ollie link: the event "\S+_color\.a" is not copied: ws:\S+: this message is too large: 1024 bytes/,
  );
  assert.match(said[1], /^ollie link: the event "\S+_number" is not copied: ws:\S+: link may not publish "number"$/);
  assert(!said.join().includes("secret"));
});

Deno.test("what the target does not take may be a lot, for which a hub ends connections", async () => {
  using directory = temporaryDirectory();
  const a = `${directory.path}/a`;
  const tokens = `${directory.path}/tokens`;
  Deno.writeTextFileSync(tokens, "secret link pub=color\n");
  await using hub = await HubProcess.start("--tokens", tokens, `${directory.path}/b`);
  await using bus = new DirectoryBus(a);
  const count = 150;
  for (let i = 0; i < count; i++) await bus.publish("number", `${i}`);
  await bus.publish("color", "red");
  const address = `ws://:secret@127.0.0.1:${hub.port}`;
  await using link = await Running.link("--cursor", `${directory.path}/cursor`, a, address);
  await until("the one that may be", () => namesIn(`${directory.path}/b`).length > 0);
  const said = await end(link);
  assert.equal(said.filter((line) => line.includes("may not publish")).length, count);
  // One that ends at the wrong moment may have been taken.
  assert.deepEqual([...new Set(payloadsIn(`${directory.path}/b`))], ["red"]);
});

Deno.test("a target that fails is tried again: a directory that cannot be written, say", async () => {
  using directory = temporaryDirectory();
  const [a, b] = ["a", "b"].map((name) => `${directory.path}/${name}`);
  await using link = await Running.link("--cursor", `${directory.path}/cursor`, a, b);
  Deno.mkdirSync(b, { recursive: true });
  Deno.writeTextFileSync(`${b}/events`, "");
  await using bus = new DirectoryBus(a);
  for (let i = 0; i < 10; i++) await bus.publish("n", `${i}`);
  assert.match(await link.stderr.next() ?? "", /^ollie link: cannot publish to .*; it is tried again until it works$/);
  Deno.removeSync(`${b}/events`);
  assert.equal(await link.stderr.next(), `ollie link: ${b} is back`);
  await until("all of them", () => namesIn(b).length === 10);
  assert.deepEqual(await end(link), []);
  // Those that were under way when it failed may come in another order.
  assert.deepEqual(payloadsIn(b).toSorted(), Array.from({ length: 10 }, (_, i) => `${i}`));
});

Deno.test("events that are gone are told of, once, and the link goes on", async () => {
  using directory = temporaryDirectory();
  const [a, b] = ["a", "b"].map((name) => `${directory.path}/${name}`);
  await using bus = new DirectoryBus(a);
  const run = async (count: number) => {
    await using link = await Running.link("--cursor", `${directory.path}/cursor`, a, b);
    await until(`${count} events`, () => namesIn(b).length === count);
    return await end(link);
  };
  await bus.publish("n", "1");
  assert.deepEqual(await run(1), []);
  for (const payload of ["2", "3", "4"]) await bus.publish("n", payload);
  await ollie(["prune", "--keep", "1", a]);
  const [said, ...more] = await run(2);
  assert.match(said, /^ollie link: .* were removed before they were read$/);
  assert.deepEqual([more, payloadsIn(b)], [[], ["1", "4"]]);
  await bus.publish("n", "5");
  assert.deepEqual(await run(3), []);
});

Deno.test("through hubs and 9P servers an event keeps its way, and who does not ask is not told", async () => {
  using directory = temporaryDirectory();
  const [a, b] = ["a", "b"].map((name) => `${directory.path}/${name}`);
  await using hub = await HubProcess.start(b);
  const { running, address } = await startServer("--listen", `unix:${directory.path}/s`, `ws://127.0.0.1:${hub.port}`);
  await using _running = running;
  await using links = new AsyncDisposableStack();
  links.use(await Running.link(a, address));
  await ollie(["pub", "-d", "red", a, "color"]);
  const identity = await new DirectoryBus(a).identity();
  for (const where of [b, `ws://127.0.0.1:${hub.port}`, address]) {
    await using bus = await openBus(where);
    await using events = bus.subscribe("color", { from: "start" });
    const [event] = await take(events, 1);
    assert.deepEqual(event.via, [identity], where);
    assert.equal(await bus.identity(), await new DirectoryBus(b).identity(), where);
  }
  const asked = await ollie(["9p", "-a", address, "read", "id"]);
  assert.equal(asked.stdout.trim(), await new DirectoryBus(b).identity());
  const { stdout } = await ollie(["sub", "-H", "-f", "json", address]);
  assert(!stdout.includes("via"), stdout);
  const response = await fetch(`${hub.url}/sub/color?replay=all`);
  for await (const chunk of response.body ?? []) {
    const text = new TextDecoder().decode(chunk);
    assert(!text.includes("via"), text);
    if (text.includes("red")) break;
  }
});

Deno.test("what cannot be a link is refused, with what would be right", async () => {
  using directory = temporaryDirectory();
  const [a, b] = ["a", "b"].map((name) => `${directory.path}/${name}`);
  const mistakes: [args: string[], message: string][] = [
    [[], "say from which bus to which: FROM TO"],
    [[a], "say from which bus to which: FROM TO"],
    [[a, b, "c"], 'unexpected argument "c"'],
    [[a, a], `${a} cannot be both FROM and TO`],
    [["mem:", b], "a mem: bus ends with its process"],
    [[a, "mem:"], "a mem: bus ends with its process"],
    [["-e", "a..b", a, b], 'the filter "a..b" has an empty segment'],
    [["--cursor", "", a, b], "--cursor needs the name of a file"],
    [["--stream", "X", a, b], "--stream is about NATS: it goes with nats://HOST:PORT/PREFIX"],
    [["--from-stream", "X", "nats://h/p", b], "--from-stream and --from-creds are for links from NATS to NATS"],
    [["--create-stream", a, "nats://h/p"], "--create-stream goes with --stream NAME"],
  ];
  await Promise.all(mistakes.map(async ([args, message]) => {
    const { code, stdout, stderr } = await ollie(["link", ...args]);
    assert.deepEqual([code, stdout], [2, ""], args.join(" "));
    assert(stderr.startsWith(`ollie link: ${message}`), stderr);
    assert.match(stderr, /^[^\n]+\n$/, "one line");
  }));
  assert.deepEqual([...Deno.readDirSync(directory.path)], [], "nothing was made");
  const { code, stderr } = await ollie(["link", a, `unix:${directory.path}/nobody`]);
  assert.equal(code, 1);
  assert.match(stderr, /^ollie link: [^\n]*nobody[^\n]*\n$/);
});
