/** The command line as a whole: help, versions, mistakes, permissions. */
import assert from "node:assert/strict";
import { startHub } from "../hub/running_hub.ts";
import { exists, temporaryDirectory } from "../temporary.ts";
import { OLLIE, ollie, Running, shell, subcommandNames } from "./ollie.ts";

const { version } = JSON.parse(Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)));

Deno.test("ollie --help shows what there is", async () => {
  for (const args of [["--help"], ["-h"], ["help"]]) {
    const { code, stdout, stderr } = await ollie(args);
    assert.deepEqual([code, stderr], [0, ""]);
    for (const word of ["Usage: ollie SUBCOMMAND", "pub", "sub", "--version"]) assert(stdout.includes(word), word);
  }
});

Deno.test("ollie alone shows the same on standard error, and exits 2", async () => {
  const { code, stdout, stderr } = await ollie([]);
  assert.deepEqual([code, stdout], [2, ""]);
  assert(stderr.includes("Usage: ollie SUBCOMMAND"));
});

Deno.test("every subcommand explains itself within 80 columns, with examples, without colour where it is not wanted", async () => {
  const subcommands = await subcommandNames();
  assert(subcommands.length >= 7);
  for (const args of [["--help"], ...subcommands.map((name) => [name, "--help"])]) {
    const { code, stdout, stderr } = await ollie(args);
    assert.deepEqual([code, stderr], [0, ""]);
    assert(stdout.startsWith(`Usage: ollie ${args[0] === "--help" ? "SUBCOMMAND" : args[0]} `));
    assert(stdout.includes("Examples:\n"));
    for (const line of stdout.split("\n")) assert(line.length <= 80 && line === line.trimEnd(), line);
    assert(!stdout.includes("\x1b"));
  }
});

Deno.test("however help is asked for, it is the same", async () => {
  for (const name of ["pub", "9p"]) {
    const { stdout } = await ollie([name, "--help"]);
    for (const args of [[name, "-h"], ["help", name], ["--help", name], ["-h", name]]) {
      assert.deepEqual(await ollie(args).then(({ code, stdout }) => [code, stdout]), [0, stdout], args.join(" "));
    }
  }
  const overview = (await ollie(["--help"])).stdout;
  for (const args of [["help", "help"], ["help", "--help"], ["--help", "-h"]]) {
    assert.equal((await ollie(args)).stdout, overview, args.join(" "));
  }
});

Deno.test("ollie --version says which", async () => {
  assert.deepEqual((await ollie(["--version"])).stdout, `ollie ${version}\n`);
  assert.deepEqual((await ollie(["-V"])).stdout, `ollie ${version}\n`);
});

Deno.test("a mistake is answered by one line on standard error that says what would be right, and by exit 2", async () => {
  using directory = temporaryDirectory();
  const bus = directory.path;
  const mistakes: [args: string[], message: string | RegExp][] = [
    [["pubb"], 'ollie: unknown subcommand "pubb"; did you mean pub?'],
    [["frobnicate"], /^ollie: unknown subcommand "frobnicate"; the subcommands are pub, sub, [^"]*\w and \w+ \(/],
    [["help", "frobnicate"], 'ollie: unknown subcommand "frobnicate"; the subcommands are pub, sub, '],
    [["hlep"], 'ollie: unknown subcommand "hlep"; did you mean help?'],
    [["--versoin"], 'ollie: unknown option "--versoin"; did you mean --version?'],
    [["pub", "--lins"], "ollie pub: unknown option --lins; did you mean --lines?"],
    [["sub", "-x"], "ollie sub: unknown option -x"],
    [["Pub"], 'ollie: unknown subcommand "Pub"; did you mean pub?'],
    [["pub", bus, "a", "b"], 'ollie pub: unexpected argument "b" ('],
    [["pub", "color", bus], `ollie pub: the topic "${bus}" is a directory: the bus comes first, and then the topic`],
    [["sub", bus, "a"], 'ollie sub: unexpected argument "a": which topics to print is said with --event'],
    [["pub", "-l", "-d", "x", bus], "ollie pub: --data and --lines do not go together"],
    [["pub", bus, ""], 'ollie pub: the topic "" is empty'],
    [["pub", bus, "__x"], 'ollie pub: the topic "__x" starts with "__", which is reserved'],
    [["pub", bus, "a..b"], 'ollie pub: the topic "a..b" has an empty segment'],
    [["pub", bus, ".."], 'ollie pub: the topic ".." has an empty segment'],
    [["pub", bus, "a\nb"], 'ollie pub: the topic "a\\nb" holds white space'],
    [["pub", bus, "x".repeat(201)], /ollie pub: the topic "x{57}\.\.\." is 201 bytes long/],
    [["pub", "mem:"], "ollie pub: a mem: bus ends with its process"],
    [["sub", "mem:"], "ollie sub: a mem: bus ends with its process"],
    [["sub", "-e", "a.>.b", bus], 'ollie sub: the filter "a.>.b" has > before its end'],
    [["sub", "-e", "", bus], 'ollie sub: the filter "" is empty: to match every event, use >'],
    [["sub", "-f", "xml", bus], 'ollie sub: -f must be raw, text or json, not "xml"'],
    [["sub", "-c", "0", bus], 'ollie sub: --count takes a whole number from 1, not "0"'],
    [["sub", "-W", "soon", bus], 'ollie sub: --timeout takes a duration such as 500ms, 5s, 2m or 1h, not "soon"'],
    [["sub", "--format=jsno", bus], 'ollie sub: --format must be raw, text or json, not "jsno"; did you mean json?'],
    [["completions"], "ollie completions: say for which shell: bash, zsh or fish"],
    [["completions", "tcsh"], 'ollie completions: SHELL must be bash, zsh or fish, not "tcsh"'],
    [["completions", "bash", "zsh"], 'ollie completions: unexpected argument "zsh"'],
    [["manual", "pub"], 'ollie manual: unexpected argument "pub"'],
    [["sub", "-H", "-n", bus], "ollie sub: --historic and --new do not go together"],
    [["sub", "--window", "1s", bus], "ollie sub: --window goes with --cursor"],
  ];
  await Promise.all(mistakes.map(async ([args, message]) => {
    const { code, stdout, stderr } = await ollie(args, { stdin: "never published" });
    assert.deepEqual([code, stdout], [2, ""], args.join(" "));
    if (typeof message === "string") assert(stderr.startsWith(message), `${stderr} is not ${message}`);
    else assert.match(stderr, message);
    assert.match(stderr, /^[^\n]+\n$/, "one line");
  }));
  assert.deepEqual([...Deno.readDirSync(bus)], [], "nothing was made");
});

Deno.test("what cannot be done is answered by one line, and by exit 1", async () => {
  using directory = temporaryDirectory();
  const file = `${directory.path}/file`;
  Deno.writeTextFileSync(file, "");
  const failures: [args: string[], message: string][] = [
    [["pub", file], `ollie pub: cannot publish to ${file}: it is not a directory\n`],
    [["sub", file], `ollie sub: cannot subscribe to ${file}: it is not a directory\n`],
    [["pub", "kafka:x"], 'ollie pub: "kafka:x" is not a bus that this ollie knows'],
    [
      ["pub", "http://127.0.0.1:1"],
      `ollie pub: "http://127.0.0.1:1" is not a bus: a hub's address is written ws://127.0.0.1:1\n`,
    ],
    [["sub", "https://x"], `ollie sub: "https://x" is not a bus: a hub's address is written wss://x\n`],
    [["pub", "ws:"], 'ollie pub: "ws:" is not a hub\'s address: it is not a URL'],
    [["sub", "ws:"], 'ollie sub: "ws:" is not a hub\'s address: it is not a URL'],
    [["hub", "-l", "0", "ws:"], 'ollie hub: "ws:" is not a hub\'s address: it is not a URL'],
    [["serve9p", "-l", "tcp:0", "ws:"], 'ollie serve9p: "ws:" is not a hub\'s address: it is not a URL'],
    [["sub", "--after", "17", directory.path], 'ollie sub: "17" is not the id of an event in a directory'],
    [
      ["sub", "--cursor", directory.path, directory.path],
      `ollie sub: cannot use the cursor ${directory.path}: it is not a file\n`,
    ],
  ];
  for (const [args, message] of failures) {
    const { code, stdout, stderr } = await ollie(args, { stdin: "" });
    assert.deepEqual([code, stdout], [1, ""], args.join(" "));
    assert(stderr.startsWith(message), `${stderr} is not ${message}`);
    assert.match(stderr, /^[^\n]+\n$/, "one line");
  }
});

Deno.test("an answer that nobody reads to its end is no failure; one that cannot be written is", async () => {
  for (const args of ["--help", "--version", "sub --help", "completions bash", "manual"]) {
    const closed = await shell(`ollie ${args} | true; exit "\${PIPESTATUS[0]}"`);
    assert.deepEqual([closed.code, closed.stderr], [0, ""], args);
    const { code, stderr } = await shell(`ollie ${args} > /dev/full`);
    assert.equal(code, 1);
    assert.match(stderr, /^ollie[a-z ]*: cannot write to standard output: no space left on device\n$/);
  }
});

Deno.test("before it reads any input, a subcommand has given up every permission but to read and to write", async () => {
  using directory = temporaryDirectory();
  const probe = `
    import { main } from ${JSON.stringify(new URL("../../cli.ts", import.meta.url).href)};
    const kinds = ["read", "write", "net", "env", "run", "sys", "ffi"] as const;
    const held = () => kinds.filter((name) => Deno.permissions.querySync({ name }).state === "granted").join(" ");
    const before = held();
    const readSync = Deno.stdin.readSync;
    Deno.stdin.readSync = (buffer) => {
      console.error(before, "|", held());
      return readSync.call(Deno.stdin, buffer);
    };
    const readDir = Deno.readDir;
    Deno.readDir = (path) => {
      console.error(before, "|", held());
      return readDir(path);
    };
    Deno.exit(await main(Deno.args));`;
  const file = `${directory.path}/probe.ts`;
  Deno.writeTextFileSync(file, probe);
  for (const args of [["pub", `${directory.path}/bus`], ["sub", "-c1", `${directory.path}/bus`]]) {
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-check", "-A", file, ...args],
      stdin: "null",
    }).output();
    assert.equal(code, 0);
    for (const line of new TextDecoder().decode(stderr).trim().split("\n")) {
      assert.equal(line, "read write net env run sys ffi | read write");
    }
  }
});

Deno.test("what speaks 9P keeps the network; what starts a server keeps next to nothing once the server listens", async () => {
  using directory = temporaryDirectory();
  const probe = `
    import { main } from ${JSON.stringify(new URL("../../cli.ts", import.meta.url).href)};
    const kinds = ["read", "write", "net", "env", "run", "sys", "ffi"] as const;
    const told = (name, original) => (...given) => {
      console.error(name, kinds.filter((name) => Deno.permissions.querySync({ name }).state === "granted").join(" "));
      return original(...given);
    };
    for (const name of ["connect", "removeSignalListener"]) Deno[name] = told(name, Deno[name]);
    Deno.exit(await main(Deno.args));`;
  const file = `${directory.path}/probe.ts`;
  Deno.writeTextFileSync(file, probe);
  const socket = `unix:${directory.path}/s`;
  const run = [Deno.execPath(), "run", "--quiet", "--no-check", "--unstable-worker-options", "-A", file];
  const server = new Running([...run, "serve9p", "--listen", socket, `${directory.path}/bus`]);
  await using _ = server;
  assert.equal(await server.stderr.next(), `ollie serve9p: listening on ${socket}`);
  for (const args of [["pub", socket], ["sub", "-W", "100ms", socket], ["9p", "-a", socket, "ls", "/"]]) {
    const [program, ...rest] = [...run, ...args];
    const { stderr } = await new Deno.Command(program, { args: rest, stdin: "null" }).output();
    assert.equal(new TextDecoder().decode(stderr), "connect read write net\n");
  }
  // The socket is still to be removed.
  server.signal("SIGTERM");
  assert.equal(await server.stderr.next(), "removeSignalListener read write");

  for (const args of [["serve9p", "--listen", "tcp:127.0.0.1:0"], ["hub", "--listen", "127.0.0.1:0"]]) {
    await using server = new Running([...run, ...args, `${directory.path}/bus`]);
    assert.match(await server.stderr.next() ?? "", /: listening on /);
    server.signal("SIGTERM");
    assert.equal(await server.stderr.next(), "removeSignalListener ");
  }
});

Deno.test("what speaks to a hub keeps the network alone, and files only for a cursor", async () => {
  using directory = temporaryDirectory();
  const probe = `
    import { main } from ${JSON.stringify(new URL("../../cli.ts", import.meta.url).href)};
    const kinds = ["read", "write", "net", "env", "run", "sys", "ffi"] as const;
    globalThis.WebSocket = class extends WebSocket {
      constructor(...given) {
        console.error("connect", kinds.filter((name) => Deno.permissions.querySync({ name }).state === "granted").join(" "));
        super(...given);
      }
    };
    Deno.exit(await main(Deno.args));`;
  const file = `${directory.path}/probe.ts`;
  Deno.writeTextFileSync(file, probe);
  await using hub = await startHub(`${directory.path}/bus`);
  const run = ["run", "--quiet", "--no-check", "-A", file];
  const cursor = `${directory.path}/cursor`;
  for (
    const [args, kept] of [
      [["pub", hub.url], "net"],
      [["sub", "-H", hub.url], "net"],
      [["sub", "--cursor", cursor, hub.url], "read write net"],
    ] as const
  ) {
    const { stderr } = await new Deno.Command(Deno.execPath(), { args: [...run, ...args], stdin: "null" }).output();
    assert.equal(new TextDecoder().decode(stderr), `connect ${kept}\n`);
  }
  const socket = `${directory.path}/s`;
  await using server = new Running([...OLLIE, "serve9p", "--listen", `unix:${socket}`, hub.url]);
  assert.equal(await server.stderr.next(), `ollie serve9p: listening on unix:${socket}`);
  assert(exists(socket));
  server.signal("SIGTERM");
  assert.equal((await server.status).code, 0);
  assert(!exists(socket), "what was made has been removed");
});
