/** Completions, in the shells themselves. */
import assert from "node:assert/strict";
import type { DescribedCommand } from "../../lib/cli/command.ts";
import { bashCompletions } from "../../lib/cli/completions/bash.ts";
import { fishCompletions } from "../../lib/cli/completions/fish.ts";
import { zshCompletions } from "../../lib/cli/completions/zsh.ts";
import { exists, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { canAsk, offersOf, SHELLS, zshList } from "./completing.ts";
import { ollie, subcommandNames } from "./ollie.ts";

/** A directory with files, directories and a socket, in which a shell runs. */
function workplace(): TemporaryDirectory {
  const directory = temporaryDirectory();
  for (const name of ["alpha", "a space", "beta"]) Deno.mkdirSync(`${directory.path}/${name}`);
  for (const name of ["afile", "b'file"]) Deno.writeTextFileSync(`${directory.path}/${name}`, "");
  // The name of a socket is that of a file.
  Deno.writeTextFileSync(`${directory.path}/socket`, "");
  return directory;
}

/** The lines of a table of lines and what is offered for the last word of each. */
type Offers = readonly (readonly [line: string, offered: readonly string[]])[];

const ADDRESSES = ["nats://", "tcp:", "tls://", "unix:", "ws://", "wss://"];

/** The options that every subcommand with a BUS has. */
const BUS = ["--create-stream", "--nats-creds", "--stream"];

const OFFERS: Offers = [
  ["ollie pu", ["pub"]],
  ["ollie -", ["--help", "--version", "-V", "-h"]],
  ["ollie help su", ["sub"]],
  // Options, long and short, each once unless it may be given again; after --, none.
  ["ollie pub --d", ["--data"]],
  ["ollie pub -", ["--data", "--help", "--lines", ...BUS, "--sync", "--verbose", "-d", "-h", "-l", "-v"]],
  ["ollie pub -d x --lines -", ["--help", ...BUS, "--sync", "--verbose", "-h", "-v"]],
  ["ollie pub -lv --data=x -", ["--help", ...BUS, "--sync", "-h"]],
  ["ollie pub -ldx -", ["--help", ...BUS, "--sync", "--verbose", "-h", "-v"]],
  ["ollie sub -e x --event=y --ev", ["--event"]],
  ["ollie sub -- -", []],
  // Their values: words, files, addresses; what takes none is followed by an operand.
  ["ollie sub --format ", ["json", "raw", "text"]],
  ["ollie sub --format=j", ["--format=json"]],
  ["ollie sub -f j", ["json"]],
  ["ollie sub -mf j", ["json"]],
  ["ollie sub --count ", []],
  ["ollie sub --cursor ", ["a space", "afile", "alpha", "b'file", "beta", "script", "socket"]],
  ["ollie sub --cursor=af", ["--cursor=afile"]],
  ["ollie serve9p --mode 66", ["660", "666"]],
  ["ollie 9p -a ", ["tcp:", "unix:"]],
  ["ollie 9p -a unix:so", ["unix:socket"]],
  ["ollie 9p --address=unix:so", ["--address=unix:socket"]],
  ["ollie 9p --address=t", ["--address=tcp:"]],
  // Operands, each in its place.
  ["ollie pub ", ["a space", "alpha", "beta", ...ADDRESSES]],
  ["ollie pub al", ["alpha"]],
  ["ollie pub ./b", ["./beta"]],
  ["ollie pub a\\ ", ["a space"]],
  ["ollie pub af", []],
  ["ollie pub u", ["unix:"]],
  ["ollie pub unix:so", ["unix:socket"]],
  ["ollie pub unix:./so", ["unix:./socket"]],
  ["ollie pub -l alpha ", []],
  ["ollie pub -d x al", ["alpha"]],
  ["ollie pub -- al", ["alpha"]],
  ["ollie hub m", ["mem:"]],
  ["ollie 9p ", ["ls", "rdwr", "rdwrs", "read", "stat", "write"]],
  ["ollie 9p -a unix:socket read e", ["event", "event.json"]],
  ["ollie 9p read -a unix:socket p", ["pub", "pub.json"]],
  ["ollie completions ", ["bash", "fish", "zsh"]],
];

for (const shell of SHELLS) {
  Deno.test({
    name: `${shell} offers what may come next`,
    ignore: !canAsk(shell),
    fn: async () => {
      using directory = workplace();
      const script = `${directory.path}/script`;
      const { code, bytes, stderr } = await ollie(["completions", shell]);
      assert.deepEqual([code, stderr], [0, ""]);
      Deno.writeFileSync(script, bytes);
      const lines = ["ollie ", ...OFFERS.map(([line]) => line)];
      const offers = await offersOf(shell, lines, { script, directory: directory.path });
      const [subcommands, ...rest] = offers;
      assert.deepEqual(subcommands, [...await subcommandNames(), "help"].sort());
      for (const [i, [line, offered]] of OFFERS.entries()) assert.deepEqual(rest[i], [...offered].sort(), line);
    },
  });
}

Deno.test({
  name: "bash offers the same where it does not break words at : and =",
  ignore: !canAsk("bash"),
  fn: async () => {
    using directory = workplace();
    const script = `${directory.path}/script`;
    Deno.writeFileSync(script, (await ollie(["completions", "bash"])).bytes);
    const setUp = "COMP_WORDBREAKS=${COMP_WORDBREAKS//[:=]}";
    const offers = await offersOf("bash", OFFERS.map(([line]) => line), { script, directory: directory.path, setUp });
    for (const [i, [line, offered]] of OFFERS.entries()) assert.deepEqual(offers[i], [...offered].sort(), line);
  },
});

Deno.test({
  name: "zsh loads them from a file that it finds by itself, too",
  ignore: !canAsk("zsh"),
  fn: async () => {
    using directory = workplace();
    Deno.mkdirSync(`${directory.path}/functions`);
    Deno.writeFileSync(`${directory.path}/functions/_ollie`, (await ollie(["completions", "zsh"])).bytes);
    const setUp = "fpath=($PWD/functions $fpath); autoload -Uz _ollie; compdef _ollie ollie";
    const asking = { script: "/dev/null", directory: directory.path, setUp };
    assert.deepEqual(await offersOf("zsh", ["ollie pu", "ollie sub -f j"], asking), [["pub"], ["json"]]);
  },
});

/** A text that means something to one shell or another, in each part of it. */
const HOSTILE = `it's "$(touch pwned)" \`touch pwned\` [a:b] \\ {c} $HOME %s * ; #`;
const hostile: DescribedCommand = {
  name: "try",
  summary: HOSTILE,
  operands: [{ value: "[A:]B", words: { plain: HOSTILE, "with:colon": HOSTILE, "$(touch pwned)": HOSTILE } }],
  description: HOSTILE,
  options: {
    word: { short: "w", value: "[A:]B", words: { one: HOSTILE, two: HOSTILE }, help: HOSTILE },
    "in-parts": { help: HOSTILE },
  },
  examples: [],
};
const MAKERS = { bash: bashCompletions, zsh: zshCompletions, fish: fishCompletions };

for (const shell of SHELLS) {
  Deno.test({
    name: `whatever the tables hold, to ${shell} it is text`,
    ignore: !canAsk(shell),
    fn: async () => {
      using directory = workplace();
      const script = `${directory.path}/script`;
      Deno.writeTextFileSync(script, await MAKERS[shell]([hostile]));
      const lines = ["ollie t", "ollie try --", "ollie try p", "ollie try --word ", "ollie try w"];
      const offers = await offersOf(shell, lines, { script, directory: directory.path });
      const [subcommands, options, plain, words, colon] = offers;
      assert.deepEqual(subcommands, ["try"]);
      assert.deepEqual(options, ["--in-parts", "--word"]);
      assert.deepEqual(plain, ["plain"]);
      assert.deepEqual(words, ["one", "two"]);
      assert.deepEqual(colon, ["with:colon"]);
      if (shell === "zsh") {
        for (const [line, name] of [["ollie t", "try"], ["ollie try --w", "--word"], ["ollie try p", "plain"]]) {
          const list = await zshList(line, { script, directory: directory.path });
          assert(list.some((text) => text.trimEnd() === `${name}  -- ${HOSTILE}`), `${list.join("\n")} for ${line}`);
        }
      }
      assert(!exists(`${directory.path}/pwned`), "nothing was run");
    },
  });
}
