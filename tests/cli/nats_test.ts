/** NATS as the BUS of every subcommand that takes one: as people run it, with logins, and with servers and hubs that are killed. */
import assert from "node:assert/strict";
import { Spoke } from "../../mod.ts";
import { within } from "../deadline.ts";
import { HubProcess } from "../hub/hub_process.ts";
import { RawWebSocket } from "../hub/raw_websocket.ts";
import { Switchboard } from "../hub/switchboard.ts";
import { makeCredentials } from "../nats_credentials.ts";
import { ignore, NatsServer, type NatsServerOptions } from "../nats_server.ts";
import { temporaryDirectory } from "../temporary.ts";
import { has, OLLIE, ollie, Running, shell, startServer } from "./ollie.ts";

const STREAM = ["--stream", "EVENTS", "--create-stream"];

function testOnNats(name: string, options: NatsServerOptions, run: (server: NatsServer) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    fn: async () => {
      await using server = await NatsServer.start(options);
      await run(server);
    },
  });
}

testOnNats("pub and sub on a server that keeps nothing", {}, async (server) => {
  await using sub = await Running.sub("-m", "-f", "text", "-e", "color", "-e", "session.>", server.url());
  const { code, stdout } = await shell(
    `echo red | ollie pub -v ${server.url()} color; ollie pub -d up ${server.url()} session.a`,
  );
  assert.equal(code, 0);
  assert.match(stdout, /^\d{4}-\S+Z-\w+\n$/);
  await shell(`ollie pub -d one ${server.url()} number; printf 'a\\nb\\n' | ollie pub -l ${server.url()} color`);
  assert.deepEqual(await sub.stdout.take(4), ["color red", "session.a up", "color a", "color b"]);
});

testOnNats(
  "pub and sub with a stream: the past, what follows, and what comes after an id",
  { jetStream: true },
  async (server) => {
    const bus = server.url();
    const ids = (await shell(`for n in 1 2 3; do ollie pub -v -d $n ${STREAM.join(" ")} ${bus} n; done`)).stdout.trim()
      .split("\n");
    assert.equal(ids.length, 3);
    await using all = await Running.sub("-m", "-H", "-f", "json", "--stream", "EVENTS", bus);
    assert.deepEqual((await all.stdout.take(3)).map((line) => JSON.parse(line ?? "").id), ids);
    await using after = await Running.sub("-m", "-f", "text", "--after", ids[1], "--stream", "EVENTS", bus);
    await using live = await Running.sub("-m", "-f", "text", bus);
    await ollie(["pub", "-d", "4", "--stream", "EVENTS", bus, "n"]);
    assert.equal(JSON.parse(await all.stdout.next() ?? "").payload, 4);
    assert.deepEqual(await after.stdout.take(2), ["n 3", "n 4"]);
    assert.equal(await live.stdout.next(), "n 4");
  },
);

testOnNats(
  "a cursor survives the server's being killed, and loses and repeats nothing",
  { jetStream: true },
  async (server) => {
    using directory = temporaryDirectory();
    const bus = server.url();
    const args = ["-c", "500", "--cursor", `${directory.path}/cursor`, "-f", "text", ...STREAM, bus];
    await using publisher = new Running([...OLLIE, "pub", "-l", ...STREAM, bus, "n"]);
    const got: (string | undefined)[] = [];
    for (let round = 0; round < 3; round++) {
      await using sub = await Running.sub(...args);
      const lines = Array.from({ length: 500 }, (_, i) => `${round * 500 + i}\n`);
      await publisher.write(lines.slice(0, 250).join(""));
      got.push(...await sub.stdout.take(100));
      await server.kill();
      await publisher.write(lines.slice(250).join(""));
      await server.restart();
      got.push(...await sub.stdout.take(400));
      assert.equal((await sub.status).code, 0);
    }
    await publisher.closeInput();
    assert.equal((await publisher.status).code, 0);
    assert.deepEqual(got, Array.from({ length: 1500 }, (_, i) => `n ${i}`));
  },
);

testOnNats("serve9p on NATS: what is written into pub is heard there, and what is published there is read from event", {
  jetStream: true,
}, async (server) => {
  using directory = temporaryDirectory();
  const bus = server.url();
  const { running, address } = await startServer("--listen", `unix:${directory.path}/s`, ...STREAM, bus);
  await using _server = running;
  await using sub = await Running.sub("-m", "-f", "text", ...STREAM, bus);
  const env = { OLLIE_9P: address };
  await shell("echo 'color red' | ollie 9p write pub", { env });
  assert.equal(await sub.stdout.next(), "color red");
  await ollie(["pub", "-d", "blue", "--stream", "EVENTS", bus, "color"]);
  await using reader = new Running([...OLLIE, "9p", "-a", address, "rdwrs", "event"]);
  await reader.write("color replay=all\n");
  await reader.closeInput();
  assert.deepEqual(await reader.stdout.take(2), ["color red", "color blue"]);
});

for (const [kind, args] of [["without a stream", []], ["with a stream", STREAM]] as const) {
  testOnNats(`two hubs on one NATS, ${kind}: who is at one hears what is published at the other`, {
    jetStream: args.length > 0,
  }, async (server) => {
    await using here = await HubProcess.start(...args, server.url());
    await using there = await HubProcess.start(...args, server.url());
    using listener = await RawWebSocket.connect(here.port);
    using publisher = await RawWebSocket.connect(there.port);
    await listener.subscribe("color", "message.sent:*");
    await publisher.say({ type: "color", payload: "red" }, { type: "message.sent", id: "5", payload: { text: "hi" } });
    assert.deepEqual(await listener.take(2), [
      { type: "color", id: "", payload: "red" },
      { type: "message.sent", id: "5", payload: { text: "hi" } },
    ]);
  });
}

testOnNats(
  "a hub that is killed loses nothing for a spoke that comes back to another",
  { jetStream: true },
  async (server) => {
    const hubs = [await HubProcess.start(...STREAM, server.url()), await HubProcess.start(...STREAM, server.url())];
    try {
      await using switchboard = new Switchboard(hubs[0].port);
      await using spoke = new Spoke(`ws://127.0.0.1:${switchboard.port}/`);
      const heard: unknown[] = [];
      let wanted = { count: 0, resolve: () => {} };
      spoke.addEventListener("n", ({ detail }) => {
        heard.push(detail);
        if (heard.length >= wanted.count) wanted.resolve();
      });
      const reach = (count: number) =>
        within(
          new Promise<void>((resolve) => {
            wanted = { count, resolve };
            if (heard.length >= count) resolve();
          }),
          `event ${count}`,
        );
      await using publisher = new Running([...OLLIE, "pub", "-l", ...STREAM, server.url(), "n"]);
      // From when one has come, the spoke is known to be there.
      for (let i = 0; heard.length === 0; i++) {
        await publisher.write(`${i}\n`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      const first = Number(heard[0]);
      const count = 3000;
      for (let round = 0; round < 4; round++) {
        await publisher.write(
          Array.from({ length: count }, (_, i) => `${1_000_000 + round * count + i}\n`).join(""),
        );
        await reach(heard.length + count / 2);
        const alive = (round + 1) % 2;
        switchboard.target = hubs[alive].port;
        await hubs[1 - alive][Symbol.asyncDispose]();
        await until(() => heard.at(-1) === 1_000_000 + round * count + count - 1, reach, heard);
        hubs[1 - alive] = await HubProcess.start(...STREAM, server.url());
      }
      const early = heard.filter((n) => Number(n) < 1_000_000);
      assert.deepEqual(early, Array.from({ length: early.length }, (_, i) => first + i));
      assert.deepEqual(heard.slice(early.length), Array.from({ length: 4 * count }, (_, i) => 1_000_000 + i));
    } finally {
      for (const hub of hubs) await hub[Symbol.asyncDispose]();
    }
  },
);

/** Waits, event by event, until something is so. */
async function until(
  ask: () => boolean,
  reach: (count: number) => Promise<void>,
  heard: readonly unknown[],
): Promise<void> {
  while (!ask()) await reach(heard.length + 1);
}

// Who may.

const PASSWORD = "hunter2:@/%x";
const IN_ADDRESS = encodeURIComponent(PASSWORD);

testOnNats("a user with a password, which nothing that is printed holds", {
  jetStream: true,
  config: `authorization { user: me, password: ${JSON.stringify(PASSWORD)} }`,
}, async (server) => {
  const withLogin = server.url().replace("//", `//me:${IN_ADDRESS}@`);
  const raw = server.url().replace("//", `//me:${PASSWORD}@`);
  const said: string[] = [];
  const run = async (...args: string[]) => {
    const ended = await ollie(args, { stdin: "" });
    said.push(ended.stderr, ended.stdout);
    return ended;
  };
  for (const bus of [withLogin, raw]) {
    assert.equal((await run("pub", "-d", "red", ...STREAM, bus, "color")).code, 0, bus);
  }
  {
    await using sub = new Running([...OLLIE, "sub", "-v", "-H", "-c", "2", ...STREAM, withLogin]);
    assert.equal((await sub.status).code, 0);
    said.push(...await sub.stdout.rest(), ...await sub.stderr.rest());
    assert(said.includes(`ollie sub: subscribed to ${server.url()}`));
    await using hub = await HubProcess.start("-v", ...STREAM, withLogin);
    await server.kill();
    hub.running.signal("SIGTERM");
    said.push(...await hub.running.stderr.rest());
    await server.restart();
  }
  for (
    const args of [
      ["pub", "-d", "x", withLogin.replace("me:", "you:")],
      ["pub", "-d", "x", server.url()],
      ["pub", "-d", "x", withLogin.replace(/:\d+\//, ":1/")],
      ["pub", "-d", "x", withLogin.replace("nats:", "gnats:")],
      ["pub", "-d", "x", withLogin.replace("nats://", "nats:")],
      ["pub", "-d", "x", withLogin.replace(/\/ollie$/, "")],
      ["pub", "-d", "x", "/tmp", "color", withLogin],
      ["sub", "color", withLogin],
      ["sub", "-H", withLogin],
      ["sub", "--stream", "NONE", withLogin],
      ["sub", "--cursor", "/dev/null/x", withLogin],
      ["hub", "-l", "127.0.0.1:0", withLogin.replace("me:", "you:")],
      ["hub", "-l", "127.0.0.1:0", "--stream", "NONE", withLogin],
      ["serve9p", "-l", withLogin, "mem:"],
    ]
  ) {
    const { code, stderr } = await run(...args);
    assert(code === 1 || code === 2, `${args.join(" ")} ended with ${code}`);
    assert.equal(stderr.trim().split("\n").length, 1, stderr);
  }
  for (const text of said) assert.doesNotMatch(text, /hunter2/);
  assert(said.some((text) => text.includes("lets nobody in with this login")), said.join(""));
});

Deno.test({
  name: "a credentials file, named by an option or by the environment",
  ignore,
  fn: async () => {
    using directory = temporaryDirectory();
    const { config, credentials } = makeCredentials();
    await using server = await NatsServer.start({ config });
    const file = `${directory.path}/me.creds`;
    Deno.writeTextFileSync(file, credentials);
    Deno.writeTextFileSync(`${directory.path}/garbage`, "SUSECRET\n");
    const bus = server.url();
    for (const [args, env] of [[["--nats-creds", file], {}], [[], { NATS_CREDS: file }]] as const) {
      await using hub = await startWith(["hub", "--listen", "127.0.0.1:0", ...args, bus], env);
      await using sub = await startWith(["sub", "-v", "-m", "-f", "text", ...args, bus], env);
      assert.equal((await ollie(["pub", "-d", "red", ...args, bus, "color"], { env })).code, 0);
      assert.equal(await sub.stdout.next(), "color red");
      assert(hub.pid > 0);
    }
    for (
      const [args, env, reason] of [
        [[], {}, "lets nobody in with this login, or with none"],
        [
          ["--nats-creds", `${directory.path}/none`],
          {},
          `cannot read --nats-creds ${directory.path}/none: no such file`,
        ],
        [[], { NATS_CREDS: `${directory.path}/none` }, `cannot read $NATS_CREDS ${directory.path}/none: no such file`],
        [["--nats-creds", `${directory.path}/garbage`], {}, "the credentials are not what a credentials file holds"],
      ] as const
    ) {
      const { code, stderr } = await ollie(["pub", "-d", "x", ...args, bus], { env });
      assert.equal(code, 1);
      assert(stderr.includes(reason), stderr);
      assert.doesNotMatch(stderr, /SUSECRET/);
    }
  },
});

/** Starts ollie, and waits until it says that it listens or has subscribed. */
async function startWith(args: readonly string[], env: Record<string, string>): Promise<Running> {
  const words = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const running = new Running(["env", ...words, ...OLLIE, ...args]);
  const line = await running.stderr.next();
  if (!/: (listening|subscribed)/.test(line ?? "")) throw new Error(`ollie ${args.join(" ")} said ${line}`);
  return running;
}

const noOpenssl = ignore || !has("openssl");

Deno.test({
  name: "TLS, which the server's name has to be right for",
  ignore: noOpenssl,
  fn: async () => {
    using directory = temporaryDirectory();
    const { path } = directory;
    const made = await shell(
      `cd ${path} &&
      openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=ca -addext basicConstraints=critical,CA:TRUE &&
      for name in localhost elsewhere.example; do
        openssl req -newkey rsa:2048 -nodes -keyout $name.key -out $name.csr -subj /CN=$name &&
        openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out $name.pem \\
          -extfile <(echo "subjectAltName=DNS:$name")
      done`,
    );
    assert.equal(made.code, 0, made.stderr);
    const env = { DENO_CERT: `${path}/ca.pem` };
    for (
      const [name, expected] of [["localhost", ""], ["elsewhere.example", /invalid peer certificate/]] as const
    ) {
      await using server = await NatsServer.start({
        config: `tls { cert_file: "${path}/${name}.pem", key_file: "${path}/${name}.key" }`,
      });
      const bus = server.url().replace("nats://127.0.0.1", "tls://localhost");
      const { code, stderr } = await ollie(["pub", "-d", "red", bus], { env });
      if (expected === "") assert.deepEqual([code, stderr], [0, ""]);
      else assert.match(stderr, expected);
      assert.match((await ollie(["pub", "-d", "red", bus])).stderr, /invalid peer certificate/);
    }
    await using plain = await NatsServer.start();
    const { stderr } = await ollie(["pub", "-d", "red", plain.url().replace("nats:", "tls:")]);
    assert.match(stderr, /server does not support 'tls'/);
  },
});

testOnNats("what is asked for wrongly is said to be, before anything is done", {}, async (server) => {
  for (
    const [args, reason] of [
      [["sub", "--create-stream", server.url()], "--create-stream goes with --stream NAME"],
      [["sub", "--stream", "X", "/tmp"], "--stream is about NATS: it goes with nats://HOST:PORT/PREFIX"],
      [["pub", "-d", "x", "--nats-creds", "f", "/tmp"], "--nats-creds is about NATS"],
      [["hub", "--create-stream"], "--create-stream is about NATS"],
      [["serve9p", "-l", "tcp:127.0.0.1:0", "--stream", "X"], "--stream is about NATS"],
      [["pub", "--sync", "-d", "x", server.url()], "--sync is about a disk"],
    ] as const
  ) {
    const { code, stderr } = await ollie(args);
    assert.equal(code, 2, stderr);
    assert(stderr.includes(reason), stderr);
  }
  const { code, stderr } = await ollie(["sub", "-H", server.url()]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /keeps no events without a stream, so it has none to replay: name a JetStream stream, with --stream/,
  );
});
