/**
 * What an archive holds besides the executable.
 *
 * @module
 */
import type { ArchivedFile } from "./archive.ts";
import { ENTRY, ROOT } from "./executable.ts";

/** Files of the project, which are where they are there. */
const COPIED = [
  "LICENSE",
  "README.md",
  "docs/files.md",
  "docs/9p.md",
  "docs/hub.md",
  "docs/systemd/README.md",
  "docs/systemd/ollie-hub@.service",
  "docs/systemd/ollie-serve9p@.service",
  "docs/systemd/ollie.conf",
];

/** What ollie prints about itself, by the file that it is in, and what is typed after `ollie`. */
const PRINTED: Readonly<Record<string, readonly string[]>> = {
  "ollie.1": ["manual"],
  "completions/ollie.bash": ["completions", "bash"],
  "completions/_ollie": ["completions", "zsh"],
  "completions/ollie.fish": ["completions", "fish"],
};

/** All of it. */
export async function contents(): Promise<ArchivedFile[]> {
  const copied = COPIED.map(async (path) => ({
    path,
    content: await Deno.readFile(new URL(path, ROOT)),
    executable: false,
  }));
  const printed = Object.entries(PRINTED).map(async ([path, args]) => ({
    path,
    content: await print(args),
    executable: false,
  }));
  return await Promise.all([...copied, ...printed]);
}

/** What ollie prints, run from its source: the executable may be for another machine. */
async function print(args: readonly string[]): Promise<Uint8Array> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--allow-read", ENTRY, ...args],
    cwd: ROOT,
    stdin: "null",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`ollie ${args.join(" ")} failed: it has said above why`);
  return stdout;
}
