/** What people download, by its names: scripts that install Ollie are made of them. */
import assert from "node:assert/strict";
import { archiveName, directoryName, TARGETS } from "../../release/targets.ts";

Deno.test("there is an archive for Linux and macOS on x64 and arm64, and for Windows on x64", () => {
  assert.deepEqual(TARGETS.map((target) => [archiveName(target), `${directoryName(target)}/${target.executable}`]), [
    ["ollie-x86_64-unknown-linux-gnu.tar.gz", "ollie-x86_64-unknown-linux-gnu/ollie"],
    ["ollie-aarch64-unknown-linux-gnu.tar.gz", "ollie-aarch64-unknown-linux-gnu/ollie"],
    ["ollie-x86_64-apple-darwin.tar.gz", "ollie-x86_64-apple-darwin/ollie"],
    ["ollie-aarch64-apple-darwin.tar.gz", "ollie-aarch64-apple-darwin/ollie"],
    ["ollie-x86_64-pc-windows-msvc.zip", "ollie-x86_64-pc-windows-msvc/ollie.exe"],
  ]);
});
