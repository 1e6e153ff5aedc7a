/**
 * What an archive holds besides the executable.
 *
 * @module
 */
import type { ArchivedFile } from "./archive.ts";
import { ENTRY, ROOT } from "./executable.ts";

/** Files of the project, which are where they are there. */
const COPIED = ["LICENSE", "README.md"];

/** All of it. */
export async function contents(): Promise<ArchivedFile[]> {
  const copied = COPIED.map(async (path) => ({
    path,
    content: await Deno.readFile(new URL(path, ROOT)),
    executable: false,
  }));
  return [...await Promise.all(copied), { path: "ollie.1", content: await manualPage(), executable: false }];
}

/** The manual page, which ollie prints. */
async function manualPage(): Promise<Uint8Array> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--allow-read", ENTRY, "manual"],
    cwd: ROOT,
    stdin: "null",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("the manual page could not be made: ollie has said above why");
  return stdout;
}
