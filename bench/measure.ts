/** What the benchmarks share: running processes against each other, and figures about a run. */

/** The source of the executable. */
export const CLI = new URL("../cli.ts", import.meta.url).pathname;

/** How the tasks of deno.json run a program. */
export const RUN = [Deno.execPath(), "run", "--quiet", "--no-prompt", "--allow-read", "--allow-write"];

/** A line of the README's table. */
export interface Row {
  readonly what: string;
  readonly reach: string;
  readonly measured: string;
}

/** The middle one. */
export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5);
}

/** The one that a share of the others lies below. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** A whole number as people read it. */
export function thousands(number: number): string {
  return Math.round(number).toLocaleString("en");
}

/** Runs something and tells how long it took, in milliseconds. */
export async function timed(work: () => unknown): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Runs a command to its end, with nothing to read. */
export async function execute([program, ...args]: readonly string[]): Promise<void> {
  const { success } = await new Deno.Command(program, { args, stdin: "null", stdout: "null", stderr: "inherit" })
    .output();
  if (!success) throw new Error(`${program} ${args.join(" ")} failed`);
}

/**
 * Runs commands in turn, so that all meet the machine in the same mood, and tells the medians of their times in milliseconds. Each
 * turn has an order of its own: what a command leaves behind is not always met by the same one.
 */
export async function inTurn(times: number, commands: readonly (readonly string[])[]): Promise<number[]> {
  const runs = commands.map((command) => ({ command, took: new Array<number>() }));
  // The first run of each fills the caches.
  for (const { command } of runs) await execute(command);
  for (let i = 0; i < times; i++) {
    for (const { command, took } of shuffled(runs)) took.push(await timed(() => execute(command)));
  }
  return runs.map(({ took }) => median(took));
}

function shuffled<T>(items: readonly T[]): T[] {
  return items.map((item) => ({ item, place: Math.random() })).sort((a, b) => a.place - b.place).map(({ item }) =>
    item
  );
}

/** A directory that goes at the end of the block, in another one if that is named. */
export function temporaryDirectory(dir?: string): Disposable & { readonly path: string } {
  const path = Deno.makeTempDirSync({ prefix: "ollie-bench-", dir });
  return { path, [Symbol.dispose]: () => Deno.removeSync(path, { recursive: true }) };
}

/** `ollie sub`, running, once it has subscribed. */
export async function startSub(...args: string[]): Promise<Deno.ChildProcess> {
  const child = new Deno.Command(RUN[0], {
    args: [...RUN.slice(1), CLI, "sub", "-v", ...args],
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let said = "";
  const reader = child.stderr.getReader();
  while (!said.includes("subscribed")) said += new TextDecoder().decode((await reader.read()).value);
  reader.releaseLock();
  child.stderr.pipeTo(new WritableStream()).catch(() => {});
  return child;
}
