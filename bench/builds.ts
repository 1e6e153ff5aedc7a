/**
 * What each way of building the executable gives when it starts, and what it takes: `deno task bench:startup` prints the README's
 * table. A time is a ratio to that of the executable as it is released, which was measured in turn with it.
 */
import { compile, ENTRY, FLAGS, INCLUDES, LATE_MODULES, LOCK, NO_CODE_CACHE, ROOT } from "../release/executable.ts";
import { execute, inTurn, temporaryDirectory } from "./measure.ts";

const TIMES = 100;

/** What is loaded late of what is measured. */
const MEASURED_LATE = "lib/cli/sub.ts";

/** Makes an executable. */
interface Build {
  readonly what: string;
  make(output: string): Promise<void>;
}

const AS_RELEASED: Build = { what: "as it is released", make: (output) => build(output, FLAGS, ENTRY) };

const OTHERS: readonly Build[] = [
  {
    what: "with Deno's code cache",
    make: (output) => build(output, without(FLAGS, NO_CODE_CACHE), ENTRY),
  },
  {
    what: "bundled",
    make: (output) => bundled(output),
  },
  {
    what: "bundled and minified",
    make: (output) => bundled(output, "--minify"),
  },
  {
    what: "with all subcommands loaded at the start",
    make: async (output) => {
      const subcommands = LATE_MODULES.filter((path) => !path.endsWith("_worker.ts"));
      const modules = ["lib/cli/pub.ts", ...subcommands];
      const imports = modules.map((path) => `import "../../${path}";\n`);
      const main = `import { main } from "../../${ENTRY}";\nDeno.exit(await main(Deno.args));\n`;
      await Deno.writeTextFile(`${output}.ts`, imports.join("") + main);
      await build(output, FLAGS, `${output}.ts`);
    },
  },
  {
    what: "with the packages that only the tests use",
    make: (output) => build(output, without(FLAGS, ...LOCK), ENTRY),
  },
];

const EMPTY: Build = {
  what: "an empty program",
  make: (output) => build(output, [NO_CODE_CACHE, "--no-check", ...LOCK], "bench/empty.ts"),
};

async function build(output: string, flags: readonly string[], entry: string): Promise<void> {
  if (!await compile(...flags, `--output=${output}`, entry)) throw new Error(`cannot compile ${entry}`);
}

/** Bundles what belongs together, and leaves what is loaded late to be loaded late. */
async function bundled(output: string, ...flags: readonly string[]): Promise<void> {
  const directory = `${output}-bundle`;
  const modules = [ENTRY, ...LATE_MODULES].map((path) => new URL(path, ROOT).pathname);
  const bundle = [
    Deno.execPath(),
    "bundle",
    "--quiet",
    "--code-splitting",
    ...flags,
    "--outdir",
    directory,
    ...modules,
  ];
  await execute(bundle);
  const [entry, late] = [ENTRY, MEASURED_LATE].map((path) => `${directory}/${path.replace(/\.ts$/, ".js")}`);
  // Its name has changed where it is, and so it has to where it is asked for.
  const text = await Deno.readTextFile(entry);
  await Deno.writeTextFile(entry, text.replaceAll(MEASURED_LATE, MEASURED_LATE.replace(/\.ts$/, ".js")));
  await build(output, [...without(FLAGS, ...INCLUDES), `--include=${late}`], entry);
}

function without(flags: readonly string[], ...left: readonly string[]): string[] {
  return flags.filter((flag) => !left.includes(flag));
}

const dist = new URL("dist", ROOT).pathname;
await Deno.mkdir(dist, { recursive: true });
/** Within the project, since an executable imports nothing from outside of what it was made of. */
using directory = temporaryDirectory(dist);
/** The bus that is published to grows; the one that is subscribed to holds one event. */
const [growing, single] = [`${directory.path}/growing`, `${directory.path}/single`];
const COMMANDS = [["--version"], ["pub", "--data", "red", growing], ["sub", single]];

const builds = [AS_RELEASED, ...OTHERS, EMPTY];
const executables = builds.map((_, i) => `${directory.path}/build${i}`);
for (const [i, { make }] of builds.entries()) await make(executables[i]);
await execute([executables[0], "pub", "--data", "red", single]);

const columns = [];
for (const args of COMMANDS) columns.push(await inTurn(TIMES, executables.map((executable) => [executable, ...args])));

console.log(
  "| how it is built | size | `ollie --version` | `ollie pub` of one event | `ollie sub` of one event |",
);
console.log("| --- | --- | --- | --- | --- |");
for (const [i, { what }] of builds.entries()) {
  const size = `${Math.round(Deno.statSync(executables[i]).size / 1e6)} MB`;
  const times = columns.map((took) => i === 0 ? `${took[0].toFixed(1)} ms` : `${(took[i] / took[0]).toFixed(2)} ×`);
  console.log(`| ${[what, size, ...times].join(" | ")} |`);
}
