/** What a service manager is told: by a server that it starts, at the socket that it listens on, when the server can be used. */
import assert from "node:assert/strict";
import { temporaryDirectory } from "../temporary.ts";
import { has, OLLIE, Running, shell } from "./ollie.ts";

/** A service manager: prints who sent it what. */
const MANAGER = `
import socket, struct, sys
listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listening.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
listening.bind(sys.argv[1].replace("@", "\\0"))
print("waiting", flush=True)
while True:
    message, ancillary, _, _ = listening.recvmsg(4096, 256)
    for line in message.decode().splitlines():
        print(struct.unpack("3i", ancillary[0][2])[0], line, flush=True)
`;
/** One that has fallen asleep: as many messages wait for it as may. */
const FULL = `
import socket, sys, time
listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listening.bind(sys.argv[1])
sending = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
sending.setblocking(False)
try:
    while True: sending.sendto(b"WATCHDOG=1", sys.argv[1])
except BlockingIOError:
    print("full", flush=True)
time.sleep(600)
`;
const ignore = !has("python3");

async function startManager(socket: string): Promise<Running> {
  const manager = new Running(["python3", "-c", MANAGER, socket]);
  assert.equal(await manager.stdout.next(), "waiting");
  return manager;
}

function underManager(socket: string, ...args: readonly string[]): Running {
  return new Running(["env", `NOTIFY_SOCKET=${socket}`, ...OLLIE, ...args]);
}

Deno.test({
  name: "a service manager is told when the hub can be used, by the process that it has started",
  ignore,
  fn: async () => {
    using directory = temporaryDirectory();
    await using manager = await startManager(`${directory.path}/notify`);
    await using hub = underManager(`${directory.path}/notify`, "hub", "--listen", "0", `${directory.path}/bus`);
    assert.equal(await manager.stdout.next(), `${hub.pid} READY=1`);
    const [, url] = /STATUS=Listening on (http:\S+)$/.exec(await manager.stdout.next() ?? "") ?? [];
    assert.equal(await (await fetch(`${url}/healthz`)).text(), "ok\n");
    assert.equal(await hub.stderr.next(), `ollie hub: listening on ${url}`);
    hub.signal("SIGTERM");
    assert.equal((await hub.status).code, 0);
    assert.deepEqual(await hub.stderr.rest(), []);
  },
});

Deno.test({
  name: "it is told of serve9p when the last of its addresses can be used",
  ignore,
  fn: async () => {
    using directory = temporaryDirectory();
    const sockets = [`unix:${directory.path}/a`, `unix:${directory.path}/b`];
    await using manager = await startManager(`${directory.path}/notify`);
    await using server = underManager(
      `${directory.path}/notify`,
      "serve9p",
      ...sockets.flatMap((socket) => ["--listen", socket]),
    );
    assert.deepEqual(await manager.stdout.take(2), [
      `${server.pid} READY=1`,
      `${server.pid} STATUS=Listening on ${sockets.join(" and ")}`,
    ]);
    for (const socket of sockets) {
      assert.equal(
        (await shell(`ollie 9p -a ${socket} ls`)).stdout,
        "event\nevent.json\npub\npub.json\nstats\nid\n",
      );
    }
  },
});

Deno.test({
  name: "a manager whose socket has an abstract name is told, or it is said that it cannot be",
  ignore: ignore || Deno.build.os !== "linux",
  fn: async () => {
    const socket = `@ollie-${crypto.randomUUID()}`;
    await using manager = await startManager(socket);
    await using hub = underManager(socket, "hub", "--listen", "0");
    // Deno 2.4 knows no abstract names.
    const said = await hub.stderr.next() ?? "";
    if (said.startsWith(`ollie hub: cannot tell the service manager at ${socket} that this is ready: `)) return;
    assert.match(said, / listening on /);
    assert.match(await manager.stdout.next() ?? "", /^\d+ READY=1$/);
  },
});

Deno.test("a manager that cannot be told is complained of, and the server goes on", async () => {
  using directory = temporaryDirectory();
  await using hub = underManager(`${directory.path}/nobody`, "hub", "--listen", "0");
  assert.equal(
    await hub.stderr.next(),
    `ollie hub: cannot tell the service manager at ${directory.path}/nobody that this is ready: no such file or directory`,
  );
  const [, url] = /listening on (\S+)$/.exec(await hub.stderr.next() ?? "") ?? [];
  assert.equal(await (await fetch(`${url}/healthz`)).text(), "ok\n");
});

Deno.test("a manager that takes no message keeps nobody waiting, and nothing is left of the attempt", {
  ignore,
}, async () => {
  using directory = temporaryDirectory();
  const socket = `${directory.path}/full`;
  await using manager = new Running(["python3", "-c", FULL, socket]);
  assert.equal(await manager.stdout.next(), "full");
  Deno.mkdirSync(`${directory.path}/tmp`);
  await using hub = new Running(
    ["env", `NOTIFY_SOCKET=${socket}`, `TMPDIR=${directory.path}/tmp`, ...OLLIE, "hub", "--listen", "0"],
  );
  assert.equal(
    await hub.stderr.next(),
    `ollie hub: cannot tell the service manager at ${socket} that this is ready: it has taken no message for 5 seconds`,
  );
  assert.match(await hub.stderr.next() ?? "", /listening on http:/);
  assert.deepEqual([...Deno.readDirSync(`${directory.path}/tmp`)].filter(({ name }) => name.startsWith("ollie-")), []);
});

Deno.test("that there is no room for a socket to tell it from is said as what it is", async () => {
  await using hub = new Running([
    ...["env", "NOTIFY_SOCKET=/nobody", "TMPDIR=/nowhere"],
    ...[...OLLIE, "hub", "--listen", "0"],
  ]);
  assert.match(
    await hub.stderr.next() ?? "",
    /that this is ready: no socket can be made in a temporary directory: no such file or directory$/,
  );
});
