/** `ollie serve9p` and `ollie 9p` as people run them, and a served bus as the BUS of `ollie pub` and `ollie sub`. */
import assert from "node:assert/strict";
import { exists, temporaryDirectory } from "../temporary.ts";
import { until, within } from "../deadline.ts";
import { OLLIE, ollie, Running, shell, startServer } from "./ollie.ts";

async function stat(address: string, name: string): Promise<number> {
  const { stdout } = await ollie(["9p", "-a", address, "read", "stats"]);
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(stdout)?.[1]);
}

Deno.test("a filter goes in, the events that match come out", async () => {
  using directory = temporaryDirectory();
  const { running, address } = await startServer("--listen", `unix:${directory.path}/s`);
  await using _ = running;
  await using reader = new Running([...OLLIE, "9p", "-a", address, "rdwrs", "event"]);
  await reader.write("color session.>\n");
  await reader.closeInput();
  await until("the subscription", async () => await stat(address, "subscriptions") === 1);
  const { code } = await shell(
    `printf 'number one\\ncolor red\\n' | ollie 9p write pub; printf 'session.a up' | ollie 9p write pub`,
    { env: { OLLIE_9P: address } },
  );
  assert.equal(code, 0);
  assert.deepEqual(await reader.stdout.take(2), ["color red", "session.a up"]);
  reader.signal("SIGINT");
  assert.equal((await reader.status).code, 130);
  await until("its end", async () => await stat(address, "subscriptions") === 0);
});

Deno.test("read prints every event, and ls and stat what there is", async () => {
  using directory = temporaryDirectory();
  const { running, address } = await startServer("-l", `unix:${directory.path}/s`, `${directory.path}/bus`);
  await using _ = running;
  const env = { OLLIE_9P: address };
  await using reader = new Running([...OLLIE, "9p", "-a", address, "read", "event.json"]);
  await until("the subscription", async () => await stat(address, "subscriptions") === 1);
  await shell(`ollie pub -d red ${directory.path}/bus color`);
  const event = JSON.parse(await reader.stdout.next() ?? "");
  assert.deepEqual([event.topic, event.payload], ["color", "red"]);
  assert.equal((await ollie(["9p", "ls", "/"], { env })).stdout, "event\nevent.json\npub\npub.json\nstats\nid\n");
  assert.match(
    (await ollie(["9p", "stat", "pub"], { env })).stdout,
    /^--w--w--w- ollie ollie 0 \S+Z pub \(qid 3 version 0\)\n$/,
  );
  assert.match((await ollie(["9p", "stat", "/"], { env })).stdout, /^dr-xr-xr-x /);
});

Deno.test("rdwr reads, then writes a line, and so on", async () => {
  using directory = temporaryDirectory();
  const { running, address } = await startServer("--listen", `unix:${directory.path}/s`);
  await using _ = running;
  await using both = new Running([...OLLIE, "9p", "-a", address, "rdwr", "event"]);
  await until("the subscription", async () => await stat(address, "subscriptions") === 1);
  const env = { OLLIE_9P: address };
  await shell("echo 'color red' | ollie 9p write pub", { env });
  assert.equal(await both.stdout.next(), "color red");
  await both.write("number\n");
  // The filter ends one subscription, and the read after it begins another.
  await shell(
    "until ollie pub -d x $OLLIE_9P number && ollie pub -d y $OLLIE_9P color && [[ $(ollie 9p read stats) = *'delivered 2'* ]]; do :; done",
    { env },
  );
  assert.equal(await both.stdout.next(), "number x");
  both.signal("SIGINT");
  assert.equal((await both.status).code, 130);
});

Deno.test("a served bus is a BUS for pub and sub", async () => {
  using directory = temporaryDirectory();
  const bus = `${directory.path}/bus`;
  const { running, address } = await startServer("--listen", `unix:${directory.path}/s`, bus);
  await using _ = running;
  await shell(`ollie pub -d old ${bus} color`);
  await using sub = await Running.sub("-m", "-e", "session.>", "-e", "color", "-f", "text", address);
  const { stdout: id } = await shell(`printf 'red\\n' | ollie pub -v ${address} color`);
  await shell(`seq 3 | ollie pub -l ${address} session.a.b; ollie pub -d x ${bus} session.c`);
  assert.deepEqual(await sub.stdout.take(5), [
    "color red",
    "session.a.b 1",
    "session.a.b 2",
    "session.a.b 3",
    "session.c x",
  ]);
  assert(exists(`${bus}/events/${id.trim()}`));
  // Live only, unless the past is asked for.
  assert.equal((await ollie(["sub", "-W", "200ms", address])).code, 124);
  assert.equal((await ollie(["sub", "-H", "-c", "2", "-f", "text", address])).stdout, "color old\ncolor red\n");
  assert.equal((await ollie(["sub", "--after", id.trim(), address])).stdout, "1");
  const cursor = `${directory.path}/cursor`;
  assert.equal((await ollie(["sub", "-c", "3", "--cursor", cursor, address])).stdout, "oldred\n1");
  assert.equal((await ollie(["sub", "--after", id.trim(), "-c", "1", "--cursor", `${cursor}2`, address])).stdout, "1");
  assert.equal((await ollie(["sub", "-c", "1", "--cursor", `${cursor}2`, address])).stdout, "2");
  assert.match(
    (await ollie(["sub", "-n", "--cursor", `${cursor}3`, address])).stderr,
    /does not tell which events there are now/,
  );
  assert.equal((await ollie(["sub", "-c", "2", "--cursor", cursor, address])).stdout, "23");
});

Deno.test("a served mem: bus says that it has no past", async () => {
  using directory = temporaryDirectory();
  const { running, address } = await startServer("--listen", `unix:${directory.path}/s`);
  await using _ = running;
  const { code, stderr } = await ollie(["sub", "-H", address]);
  assert.equal(code, 1);
  assert.match(stderr, /^ollie sub: unix:\S+: a mem: bus keeps no events, so it has none to replay/);
});

Deno.test("only its owner may use a socket, and whom --mode lets", async () => {
  using directory = temporaryDirectory();
  for (const [args, mode] of [[[], 0o600], [["--mode", "660"], 0o660]] as const) {
    const { running } = await startServer("--listen", `unix:${directory.path}/s`, ...args);
    await using _ = running;
    assert.equal(Deno.statSync(`${directory.path}/s`).mode! & 0o777, mode);
    running.signal("SIGTERM");
    assert.equal((await running.status).code, 0);
  }
  assert.deepEqual([...Deno.readDirSync(directory.path)], []);
});

Deno.test("a socket that was left behind is replaced, one in use is not, and no file is", async () => {
  using directory = temporaryDirectory();
  const path = `${directory.path}/s`;
  {
    const { running } = await startServer("--listen", `unix:${path}`);
    await using _ = running;
    running.signal("SIGKILL");
    await running.status;
  }
  assert(exists(path));
  const { running } = await startServer("--listen", `unix:${path}`);
  await using _ = running;
  const second = await ollie(["serve9p", "--listen", `unix:${path}`]);
  assert.deepEqual([second.code, second.stderr], [
    1,
    `ollie serve9p: cannot listen at unix:${path}: another server does\n`,
  ]);
  Deno.writeTextFileSync(`${directory.path}/file`, "precious");
  const onFile = await ollie(["serve9p", "--listen", `unix:${directory.path}/file`]);
  assert.deepEqual([onFile.code, Deno.readTextFileSync(`${directory.path}/file`)], [1, "precious"]);
});

for (const [signal, status] of [["SIGTERM", 0], ["SIGINT", 130]] as const) {
  Deno.test(`${signal} ends it cleanly: who waits is told, and the socket goes`, async () => {
    using directory = temporaryDirectory();
    const path = `${directory.path}/s`;
    const { running, address } = await startServer("--listen", `unix:${path}`, "--listen", "tcp:127.0.0.1:0");
    await using _ = running;
    await using reader = new Running([...OLLIE, "9p", "-a", address, "read", "event"]);
    await until("the subscription", async () => await stat(address, "subscriptions") === 1);
    running.signal(signal);
    assert.equal((await running.status).code, status);
    assert.equal(await reader.stderr.next(), "ollie 9p: event: the server is ending");
    assert.equal((await reader.status).code, 1);
    assert(!exists(path));
  });
}

/** Leaves a socket behind, as a server does that was killed. */
function leaveBehind(path: string): void {
  using _listener = Deno.listen({ transport: "unix", path: `${path}~` });
  // New releases of Deno remove it when nobody listens any more, if they find it.
  Deno.renameSync(`${path}~`, path);
}

async function seen(watcher: Deno.FsWatcher, path: RegExp): Promise<void> {
  for await (const { paths } of watcher) if (path.test(paths[0])) return;
}

Deno.test("a signal ends it cleanly while it starts, too, and nothing is left", async () => {
  using directory = temporaryDirectory();
  const sockets = ["a", "b", "c", "d", "e", "f"].map((name) => `${directory.path}/${name}`);
  for (let round = 0; round < 5; round++) {
    // What nobody listens at any more is asked first, which takes some time.
    for (const path of sockets) leaveBehind(path);
    using watcher = Deno.watchFs(directory.path);
    await using server = new Running([...OLLIE, "serve9p", ...sockets.flatMap((path) => ["--listen", `unix:${path}`])]);
    // In a directory of that kind a socket is made.
    await within(seen(watcher, /\/\.\w+$/), "a directory for a socket");
    server.signal("SIGTERM");
    assert.equal((await server.status).code, 0);
    const left = [...Deno.readDirSync(directory.path)].map(({ name }) => name);
    assert.deepEqual(left.filter((name) => name.startsWith(".")), []);
    for (const name of left) Deno.removeSync(`${directory.path}/${name}`);
  }
});

Deno.test("a client that does not read cannot keep the server from ending", async () => {
  using directory = temporaryDirectory();
  const { running, address } = await startServer("--listen", `unix:${directory.path}/s`, `${directory.path}/bus`);
  await using _ = running;
  await using sub = await Running.sub("-m", address);
  sub.signal("SIGSTOP");
  await shell(`for i in 1 2 3; do head -c 3000000 /dev/zero | ollie pub ${directory.path}/bus n; done`);
  running.signal("SIGTERM");
  assert.equal((await running.status).code, 0);
});

Deno.test("it says where it can be reached, and warns of strangers", async () => {
  const { running, address } = await startServer("--listen", "tcp:0");
  await using _ = running;
  assert.match(address, /^tcp:127\.0\.0\.1:[1-9]\d*$/);
  await using open = new Running([...OLLIE, "serve9p", "--listen", "tcp:0.0.0.0:0"]);
  assert.match(await open.stderr.next() ?? "", /warning: tcp:0\.0\.0\.0:\d+ can be reached from other machines/);
});

Deno.test("there are no more connections and fids than may be", async () => {
  using directory = temporaryDirectory();
  const { running, address } = await startServer(
    "--listen",
    `unix:${directory.path}/s`,
    "--max-connections",
    "1",
    "--max-fids",
    "1",
  );
  await using _ = running;
  // The root is a fid already.
  const { stderr } = await ollie(["9p", "-a", address, "read", "stats"]);
  assert.equal(stderr, "ollie 9p: stats: too many fids: a connection may have 1\n");
  using _held = await Deno.connect({ transport: "unix", path: `${directory.path}/s` });
  // It has come first, whoever is accepted first.
  assert.match((await ollie(["9p", "-a", address, "ls", "/"])).stderr, /^ollie 9p: the connection to unix:\S+ ended/);
  assert.match(await running.stderr.next() ?? "", /refused a connection: there are 1, as many as may be/);
});

Deno.test("--debug prints each message", async () => {
  using directory = temporaryDirectory();
  const { running, address } = await startServer("--listen", `unix:${directory.path}/s`, "--debug");
  await using _ = running;
  await ollie(["9p", "-a", address, "ls", "pub"]);
  assert.deepEqual(await running.stderr.take(4), [
    '<-1- Tversion tag 65535 msize 1048576 version "9P2000"',
    '-1-> Rversion tag 65535 msize 1048576 version "9P2000"',
    '<-1- Tattach tag 0 fid 0 afid 4294967295 uname "ollie" aname ""',
    "-1-> Rattach tag 0 qid (0 0 d)",
  ]);
});

Deno.test("a wrong command line is explained", async () => {
  for (
    const [args, message] of [
      [["serve9p"], "say where to listen: --listen unix:PATH or tcp:HOST:PORT"],
      [["serve9p", "--listen", "localhost"], '--listen: "localhost" is no 9P address'],
      [["serve9p", "--listen", "tcp:localhost:99999"], '"tcp:localhost:99999" is no 9P address'],
      [["serve9p", "--listen", "unix:s", "--mode", "9"], "--mode takes three octal digits such as 600 or 660"],
      [["serve9p", "--listen", "unix:s", "--max-fids", "0"], "--max-fids takes a whole number from 1"],
      [["9p"], "say what to do: read, write, rdwr, rdwrs, ls or stat"],
      [["9p", "raed", "event"], 'ACTION must be read, write, rdwr, rdwrs, ls or stat, not "raed"; did you mean read?'],
      [["9p", "read"], "say which file: ollie 9p read PATH"],
      [["9p", "read", "event"], "say which server: --address unix:PATH or tcp:HOST:PORT, or set OLLIE_9P"],
    ] as const
  ) {
    const { code, stderr } = await ollie(args);
    assert.equal(code, 2, stderr);
    assert(stderr.includes(message), stderr);
  }
  const { stderr } = await ollie(["9p", "-a", "unix:/nothing/here", "read", "event"]);
  assert.equal(stderr, "ollie 9p: cannot connect to unix:/nothing/here: no such file or directory\n");
});
