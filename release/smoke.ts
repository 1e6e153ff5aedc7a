/**
 * Tries an executable on the machine that it is for, as somebody would who has just unpacked it:
 *
 * ```sh
 * deno run --allow-all release/smoke.ts dist/ollie
 * ```
 *
 * It says which version it is, and an event goes through a hub and through a directory. That takes the modules and the files which
 * are embedded in it, on whatever machine it was made.
 *
 * @module
 */
import assert from "node:assert/strict";
import project from "../deno.json" with { type: "json" };

const [executable] = Deno.args;

/** Runs it to its end, and returns what it prints. */
async function ollie(...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(executable, { args, stdin: "null" }).output();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

async function throughHub(): Promise<void> {
  await using hub = new Deno.Command(executable, {
    args: ["hub", "--listen", "127.0.0.1:0"],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let said = "";
  const listening = /listening on (\S+)\n/;
  for await (const chunk of hub.stderr.pipeThrough(new TextDecoderStream())) {
    said += chunk;
    if (listening.test(said)) break;
  }
  const address = listening.exec(said)?.[1];
  assert(address !== undefined, `the hub did not listen: ${said}`);
  const page = await fetch(address);
  assert.equal(page.status, 200);
  assert.match(await page.text(), /<title>/);
  const events = await fetch(new URL("/sub/color", address));
  await ollie("pub", "--data", "red", address.replace("http", "ws"), "color");
  for await (const event of events.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    if (event.includes("red")) return;
  }
  assert.fail("the event did not come");
}

async function throughDirectory(): Promise<void> {
  const bus = await Deno.makeTempDir({ prefix: "ollie-smoke-" });
  try {
    await ollie("pub", "--data", "red", bus, "color");
    assert.equal(await ollie("sub", "--format", "text", bus), "color red\n");
  } finally {
    await Deno.remove(bus, { recursive: true });
  }
}

assert.equal(await ollie("--version"), `ollie ${project.version}\n`);
await throughHub();
// The name of an event has a time with colons in it, which no name has there.
if (Deno.build.os !== "windows") await throughDirectory();
