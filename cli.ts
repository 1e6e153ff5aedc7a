/**
 * The executable: picks a subcommand and loads only that.
 *
 * @module
 */
import type { Subcommands } from "./lib/cli/command.ts";

/**
 * All subcommands.
 *
 * Deno reads all that a program may import, if it can tell beforehand what that is. For the one that starts most often it should;
 * the others, which would cost that a millisecond, are found when they are asked for (and named in release/executable.ts).
 */
const SUBCOMMANDS: Subcommands = {
  pub: { summary: "publish an event", load: () => import("./lib/cli/pub.ts") },
  sub: { summary: "print events as they come", load: () => import(beside("./lib/cli/sub.ts")) },
  serve9p: { summary: "serve a bus as files, over 9P", load: () => import(beside("./lib/cli/serve9p.ts")) },
  hub: {
    summary: "serve a bus to browsers and services, over WebSocket and HTTP",
    load: () => import(beside("./lib/cli/hub.ts")),
  },
  link: { summary: "copy events from one bus to another", load: () => import(beside("./lib/cli/link.ts")) },
  prune: { summary: "remove old events from a directory", load: () => import(beside("./lib/cli/prune.ts")) },
  "9p": { summary: "read and write files of a 9P server", load: () => import(beside("./lib/cli/ninep.ts")) },
  completions: {
    summary: "print what a shell needs to complete ollie's command lines",
    load: () => import(beside("./lib/cli/completions.ts")),
  },
  manual: { summary: "print the manual page", load: () => import(beside("./lib/cli/manual.ts")) },
};

/** Where another module is, by its path from this one. */
function beside(path: string): string {
  return new URL(path, import.meta.url).href;
}

/**
 * Runs a command line.
 *
 * @param args what was typed after `ollie`
 * @returns the exit status: 0, 1 if something failed, 2 if the command line was wrong, 124 if the time was up, 130 if it was interrupted
 */
export async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  const known = name !== undefined && Object.hasOwn(SUBCOMMANDS, name);
  try {
    if (known) return await (await SUBCOMMANDS[name].load()).run(rest, SUBCOMMANDS);
    return await general(name, rest);
  } catch (error) {
    const { reportFailure } = await import("./lib/cli/failure.ts");
    return reportFailure(known ? `ollie ${name}` : "ollie", error);
  }
}

/** Answers a command line that has no subcommand, or none that there is. */
async function general(name: string | undefined, rest: readonly string[]): Promise<number> {
  switch (name) {
    case undefined: {
      // Without a word of what to do, the help is no answer but says what is missing.
      const { overview } = await import("./lib/cli/help.ts");
      console.error(overview(SUBCOMMANDS, Deno.stderr));
      return 2;
    }
    case "-h":
    case "--help":
    case "help": {
      const [about] = rest;
      if (about !== undefined && !["-h", "--help", "help"].includes(about)) return await main([about, "--help"]);
      const { overview } = await import("./lib/cli/help.ts");
      return await answer(overview(SUBCOMMANDS, Deno.stdout));
    }
    case "-V":
    case "--version": {
      const { default: { version } } = await import("./deno.json", { with: { type: "json" } });
      return await answer(`ollie ${version}`);
    }
    default: {
      const { listed, nearest, UsageError } = await import("./lib/cli/args.ts");
      const near = nearest(name, [...Object.keys(SUBCOMMANDS), "help", "--help", "--version"]);
      const what = name.startsWith("-") ? "option" : "subcommand";
      const subcommands = `the subcommands are ${listed(Object.keys(SUBCOMMANDS), "and")}`;
      const hint = near === undefined ? subcommands : `did you mean ${near}?`;
      throw new UsageError(`unknown ${what} ${JSON.stringify(name)}; ${hint}`);
    }
  }
}

/** Prints what was asked for, and returns the exit status. */
async function answer(text: string): Promise<number> {
  const { printAnswer } = await import("./lib/cli/output.ts");
  await printAnswer(`${text}\n`);
  return 0;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
