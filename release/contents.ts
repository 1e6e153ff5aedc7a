/**
 * What an archive holds besides the executable.
 *
 * @module
 */
import type { ArchivedFile } from "./archive.ts";
import { ROOT } from "./executable.ts";

/** Files of the project, which are where they are there. */
const COPIED = ["LICENSE", "README.md"];

/** All of it. */
export async function contents(): Promise<ArchivedFile[]> {
  return await Promise.all(COPIED.map(async (path) => ({
    path,
    content: await Deno.readFile(new URL(path, ROOT)),
    executable: false,
  })));
}
