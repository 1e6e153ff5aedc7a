/**
 * The executable: picks a subcommand and loads only that.
 *
 * @module
 */

/**
 * A subcommand: what it is for, and how to load it.
 *
 * Deno reads all that a program may import, if it can tell beforehand what that is. For the subcommands that start often it
 * should; the others, which would cost those a millisecond, are found when they are asked for (and named in the compile task).
 */
interface Subcommand {
  readonly summary: string;
  load(): Promise<{ run(args: readonly string[]): Promise<number> }>;
}

const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  pub: { summary: "publish an event", load: () => import("./lib/cli/pub.ts") },
  sub: { summary: "print events as they come", load: () => import("./lib/cli/sub.ts") },
  serve9p: { summary: "serve a bus as files, over 9P", load: () => import(besides("./lib/cli/serve9p.ts")) },
  hub: {
    summary: "serve a bus to browsers and services, over WebSocket and HTTP",
    load: () => import(besides("./lib/cli/hub.ts")),
  },
  prune: { summary: "remove old events from a directory", load: () => import(besides("./lib/cli/prune.ts")) },
  "9p": { summary: "read and write files of a 9P server", load: () => import(besides("./lib/cli/ninep.ts")) },
};

/** Where another module is. */
function besides(path: string): string {
  return new URL(path, import.meta.url).href;
}

/**
 * Runs a command line.
 *
 * @param args what was typed after `ollie`
 * @returns the exit status: 0, 1 if something failed, 2 if the command line was wrong, 124 if the time was up
 */
export async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  const known = name !== undefined && Object.hasOwn(SUBCOMMANDS, name);
  try {
    if (known) return await (await SUBCOMMANDS[name].load()).run(rest);
    return await general(name, rest);
  } catch (error) {
    const { reportFailure } = await import("./lib/cli/failure.ts");
    return reportFailure(known ? `ollie ${name}` : "ollie", error);
  }
}

/** Answers a command line that has no subcommand, or none that there is. */
async function general(name: string | undefined, rest: readonly string[]): Promise<number> {
  switch (name) {
    case undefined:
    case "-h":
    case "--help":
    case "help": {
      if (name === "help" && rest.length > 0) return await main([rest[0], "--help"]);
      const { overview } = await import("./lib/cli/help.ts");
      const help = overview(
        Object.fromEntries(Object.entries(SUBCOMMANDS).map(([name, { summary }]) => [name, summary])),
      );
      // Without a word of what to do, that is an error; asked for, it is an answer.
      if (name === undefined) console.error(help);
      else console.log(help);
      return name === undefined ? 2 : 0;
    }
    case "-V":
    case "--version": {
      const { default: { version } } = await import("./deno.json", { with: { type: "json" } });
      console.log(`ollie ${version}`);
      return 0;
    }
    default: {
      const { nearest, UsageError } = await import("./lib/cli/args.ts");
      const near = nearest(name, [...Object.keys(SUBCOMMANDS), "--help", "--version"]);
      const what = name.startsWith("-") ? "option" : "subcommand";
      const subcommands = `the subcommands are ${Object.keys(SUBCOMMANDS).join(" and ")}`;
      const hint = near === undefined ? subcommands : `did you mean ${near}?`;
      throw new UsageError(`unknown ${what} ${JSON.stringify(name)}; ${hint}`);
    }
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
