/**
 * What each subcommand may do, as a table for the README: `deno task permissions` prints it. That the flags suffice, and that none
 * of them can be left out, is tested (`tests/docs/permissions_test.ts`).
 *
 * @module
 */

/** One use of ollie. */
export interface Use {
  /** What is typed after `ollie`. */
  readonly args: string;
  /** What it may do once it has begun, however it was started; a worker that reads what strangers send, what is named for it. */
  readonly may: string;
  /** The fewest flags that `deno run` needs for it, in the checkout: values by the names of the flags. */
  readonly flags: Readonly<Record<string, string>>;
}

/** All of them. In the checkout, `lib` holds the modules that are loaded when they are asked for. */
export const USES: readonly Use[] = [
  {
    args: "pub /tmp/a color",
    may: "read and write files",
    flags: { read: "/tmp/a", write: "/tmp/a" },
  },
  {
    args: "pub --sync /tmp/a color",
    may: "the same",
    flags: { read: "/tmp", write: "/tmp/a" },
  },
  {
    args: "sub /tmp/a",
    may: "the same",
    flags: { read: "lib,/tmp/a" },
  },
  {
    args: "sub --cursor /home/me/seen /tmp/a",
    may: "the same",
    flags: { read: "lib,/tmp/a,/home/me", write: "/home/me" },
  },
  {
    args: "sub -H unix:/run/ollie",
    may: "read and write files, and use the network",
    flags: { read: "lib,/run/ollie", write: "/run/ollie", net: "unix:/run/ollie" },
  },
  {
    args: "sub -H tcp:HOST:5640",
    may: "the same",
    flags: { read: "lib", net: "HOST:5640" },
  },
  {
    args: "sub -H ws://HOST:8080",
    may: "use the network",
    flags: { read: "lib", net: "HOST:8080" },
  },
  {
    args: "sub -H --stream EVENTS nats://HOST:4222/app",
    may: "the same",
    flags: { read: "lib", net: "HOST:4222" },
  },
  {
    args: "9p read stats",
    may: "read and write files, and use the network",
    flags: { read: "lib,/run/ollie", write: "/run/ollie", net: "unix:/run/ollie", env: "OLLIE_9P" },
  },
  {
    args: "serve9p --listen unix:/run/ollie /tmp/a",
    may: "read and write files, to remove the socket; its worker: read and write `/tmp/a`, and listen at the socket",
    flags: { read: "lib,/tmp/a,/run", write: "/tmp/a,/run", net: "" },
  },
  {
    args: "serve9p --listen tcp:5640 /tmp/a",
    may: "nothing; its worker: read and write `/tmp/a`, and use `127.0.0.1:5640`",
    flags: { read: "lib,/tmp/a", write: "/tmp/a", net: "127.0.0.1:5640" },
  },
  {
    args: "hub --listen 8080 /tmp/a",
    may: "nothing; its worker: read and write `/tmp/a`, and use `127.0.0.1:8080`",
    flags: { read: "lib,/tmp/a", write: "/tmp/a", net: "127.0.0.1:8080" },
  },
  {
    args: "link /tmp/b ws://HOST:8080",
    may: "read and write files, and use the network",
    flags: { read: "lib,/tmp/b", write: "/tmp/b", net: "HOST:8080" },
  },
  {
    args: "prune --keep 1 /tmp/a",
    may: "read and write files",
    flags: { read: "lib,/tmp/a", write: "/tmp/a" },
  },
  {
    args: "completions bash",
    may: "nothing",
    flags: { read: "lib" },
  },
];

/**
 * Flags as they are typed.
 *
 * @param flags values by the names of the flags; an empty one stands for all
 */
export function flagsOf(flags: Use["flags"]): string[] {
  return Object.entries(flags).map(([name, value]) => `--allow-${name}${value === "" ? "" : `=${value}`}`);
}

/** The table. */
export function permissionTable(): string {
  const rows = USES.map(({ args, may, flags }) => `| \`ollie ${args}\` | ${may} | \`${flagsOf(flags).join(" ")}\` |`);
  return ["| command | once it has begun, it may | from source, it needs |", "| --- | --- | --- |", ...rows].join("\n");
}

if (import.meta.main) console.log(permissionTable());
