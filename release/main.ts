/**
 * `deno task release`: what people download, an archive for each kind of machine, and the SHA-256 sums of all.
 *
 * ```sh
 * deno task release                                       # all, into dist/release/
 * deno task release --target x86_64-unknown-linux-gnu     # one; give it again for several
 * deno task release --tag v0.1.0                          # all, if that is the version
 * ```
 *
 * @module
 */
import { createHash } from "node:crypto";
import { parseArgs } from "node:util";
import project from "../deno.json" with { type: "json" };
import { type ArchivedFile, pack } from "./archive.ts";
import { contents } from "./contents.ts";
import { compile, ENTRY, FLAGS } from "./executable.ts";
import { archiveName, directoryName, type Target, TARGETS } from "./targets.ts";

/** The name of the file that `sha256sum -c` takes. */
const SUMS = "SHA256SUMS";

/** A release that was not made, and why. */
class ReleaseError extends Error {}

/** Makes a release. */
async function release(args: readonly string[]): Promise<void> {
  const { target: triples = [], tag, output } = parse(args);
  if (tag !== undefined && tag !== `v${project.version}`) {
    throw new ReleaseError(
      `the tag is ${tag}, but the version in deno.json is ${project.version}: the tag has to be v${project.version}`,
    );
  }
  for (const triple of triples) checkTriple(triple);
  const targets = TARGETS.filter(({ triple }) => triples.length === 0 || triples.includes(triple));
  for (const target of targets) checkBase(target);
  await Deno.mkdir(output, { recursive: true });
  // What an earlier release left is not to be taken for a part of this one.
  for (const name of [...TARGETS.map(archiveName), SUMS]) await remove(`${output}/${name}`);
  const besides = await contents();
  const sums = [];
  for (const target of targets) {
    const archive = await build(target, besides);
    const name = archiveName(target);
    await Deno.writeFile(`${output}/${name}`, archive);
    sums.push(`${createHash("sha256").update(archive).digest("hex")}  ${name}\n`);
    console.log(`${output}/${name}: ${(archive.length / 1e6).toFixed(1)} MB`);
  }
  await Deno.writeTextFile(`${output}/${SUMS}`, sums.join(""));
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        target: { type: "string", multiple: true },
        tag: { type: "string" },
        output: { type: "string", default: "dist/release" },
      },
    }).values;
  } catch (error) {
    throw new ReleaseError(error instanceof Error ? error.message : String(error));
  }
}

function checkTriple(triple: string): void {
  const triples = TARGETS.map(({ triple }) => triple);
  if (!triples.includes(triple)) {
    throw new ReleaseError(`there is no target ${JSON.stringify(triple)}: the targets are ${triples.join(", ")}`);
  }
}

/** What $DENORT_BIN names would be put into every executable, whomever it is for. */
function checkBase({ triple }: Target): void {
  if (Deno.env.has("DENORT_BIN") && triple !== Deno.build.target) {
    throw new ReleaseError(
      `DENORT_BIN names a base for this machine, which is none for ${triple}: unset it, or ask for --target ${Deno.build.target} alone`,
    );
  }
}

/** Makes an archive, with those files besides the executable. */
async function build(target: Target, besides: readonly ArchivedFile[]): Promise<Uint8Array> {
  const directory = await Deno.makeTempDir({ prefix: "ollie-release-" });
  try {
    const executable = `${directory}/${target.executable}`;
    if (!await compile(...FLAGS, `--target=${target.triple}`, `--output=${executable}`, ENTRY)) {
      throw new ReleaseError(`the executable for ${target.triple} could not be made: Deno has said above why`);
    }
    const files = [
      { path: target.executable, content: await Deno.readFile(executable), executable: true },
      ...besides,
    ];
    const within = directoryName(target);
    return await pack(target.format, files.map((file) => ({ ...file, path: `${within}/${file.path}` })));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function remove(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

try {
  await release(Deno.args);
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error;
  console.error(`release: ${error.message}`);
  Deno.exit(1);
}
