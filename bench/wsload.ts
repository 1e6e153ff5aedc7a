/**
 * The load on a hub and its peers: `wsload`, a program in C that plays a thousand subscribers and takes little of its core for it.
 * The environment variable OLLIE_WSLOAD names it, else it is built from its source, which is kept beside the repository.
 */
import { execute } from "./measure.ts";
import { has, LOAD_CORE, on } from "./server.ts";

const SOURCE = new URL("../../shared/tools/wsload.c", import.meta.url).pathname;

/** What a run of it tells. */
export interface Load {
  /** How many events reached a subscriber a second, each one counted for each of them. */
  readonly rate: number;
  /** From publishing an event until the last subscriber has it, in milliseconds: the median. */
  readonly time: number;
}

/**
 * Where the program is.
 *
 * @param directory where it may be built
 * @returns `undefined`, if it is not there and cannot be built
 */
export async function findWsload(directory: string): Promise<string | undefined> {
  const named = Deno.env.get("OLLIE_WSLOAD");
  if (named !== undefined) return named;
  try {
    Deno.statSync(SOURCE);
  } catch {
    return undefined;
  }
  if (!has("cc")) return undefined;
  const program = `${directory}/wsload`;
  await execute(["cc", "-O2", "-o", program, SOURCE]);
  return program;
}

/**
 * Runs it.
 *
 * @param program where it is
 * @param port the port of the server
 * @param options what it is told, as its source explains
 */
export async function wsload(program: string, port: number, options: Readonly<Record<string, unknown>>): Promise<Load> {
  const [command, ...args] = on(LOAD_CORE, [
    program,
    `${port}`,
    ...Object.entries(options).map(([name, value]) => `${name}=${value}`),
  ]);
  const { stdout, success } = await new Deno.Command(command, { args, stderr: "inherit" }).output();
  const [, rate, time] =
    /([\d.]+) deliveries\/s, last delivery p50 ([\d.]+) ms/.exec(new TextDecoder().decode(stdout)) ??
      [];
  if (!success || rate === undefined) throw new Error(`${program} failed`);
  return { rate: Number(rate), time: Number(time) };
}
