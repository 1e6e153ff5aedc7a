/**
 * The executable: what it may do, what is in it, and how it is built. `deno task compile` makes `dist/ollie` for this machine; a
 * release makes it in the same way for every other.
 *
 * @module
 */

/** Where the project is. */
export const ROOT = new URL("..", import.meta.url);

/** What the executable starts with. */
export const ENTRY = "cli.ts";

/** What it may do at most; a subcommand gives up what it does not need. */
export const PERMISSIONS = [
  "--no-prompt",
  "--allow-read",
  "--allow-write",
  "--allow-net",
  "--allow-env=OLLIE_9P,NATS_CREDS,NOTIFY_SOCKET",
];

/** What Deno calls unstable: the kind of socket that a service manager listens on, and a worker that may do less than the rest. */
export const UNSTABLE = ["--unstable-net", "--unstable-worker-options"];

/** Modules that are found only when they are asked for, so that Deno does not see by itself that they belong to it. */
export const LATE_MODULES = [
  "lib/cli/sub.ts",
  "lib/cli/serve9p.ts",
  "lib/cli/serve9p_worker.ts",
  "lib/cli/ninep.ts",
  "lib/cli/hub.ts",
  "lib/cli/hub_worker.ts",
  "lib/cli/link.ts",
  "lib/cli/prune.ts",
  "lib/cli/completions.ts",
  "lib/cli/manual.ts",
  "lib/cli/nats.ts",
  "lib/open.ts",
  "lib/bus/nats.ts",
];

/** Files that it reads. */
const FILES = ["lib/hub/page", "lib/cli/completions/engine.bash"];

/** What is in it besides what it starts with. */
export const INCLUDES = [...LATE_MODULES, ...FILES].map((path) => `--include=${path}`);

/**
 * A lock with the packages of the executable alone. With `deno.lock`, Deno embeds those of the tests too, and goes through all that is
 * embedded at every start: that takes almost as long again as all the rest. The configuration names those, too, and so is left out.
 */
export const LOCK = ["--lock=release/deno.lock", "--frozen", "--no-config"];

/**
 * No code cache. Deno would keep it in the directory for temporary files, under a name that everybody knows, and run what is in it:
 * whoever puts it there first says what the next user's `ollie` does. It gains a hundredth.
 */
export const NO_CODE_CACHE = "--no-code-cache";

/**
 * What may be imported: what is in the executable. Without it, `import()` in an executable reads any file of the disk, JSON even to
 * the letter, whatever the permissions say, and so would what has broken into a worker that may read nothing but a bus.
 */
export const IMPORT_MAP = "--import-map=release/import_map.json";

/** How the executable is built, but for what it is called and whom it is for. */
export const FLAGS: readonly string[] = [
  ...PERMISSIONS,
  ...UNSTABLE,
  ...INCLUDES,
  ...LOCK,
  NO_CODE_CACHE,
  IMPORT_MAP,
  // `deno task check` checks types; here, packages that have nothing but types would be embedded.
  "--no-check",
];

/**
 * Runs `deno compile`.
 *
 * @param args its flags, and at the end what to start with, as paths within the project
 * @returns whether there is now an executable; what Deno has to say is printed
 */
export async function compile(...args: readonly string[]): Promise<boolean> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["compile", "--quiet", ...args],
    cwd: ROOT,
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  });
  return (await command.spawn().status).success;
}

if (import.meta.main) {
  Deno.exit(await compile(...FLAGS, "--output=dist/ollie", ENTRY) ? 0 : 1);
}
