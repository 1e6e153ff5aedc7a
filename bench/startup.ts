/** How much longer than an empty program `ollie pub` takes, as a whole process. */
import { CLI, execute, inTurn, type Row, RUN, temporaryDirectory } from "./measure.ts";

const TIMES = 60;
const EMPTY = new URL("empty.ts", import.meta.url).pathname;
const EXECUTABLE = new URL("../dist/ollie", import.meta.url).pathname;

/** One event from standard input, against an empty program run in the same way. */
export async function startup(): Promise<Row[]> {
  using directory = temporaryDirectory();
  const bus = `${directory.path}/bus`;
  const row = (mode: string, [nothing, pub]: [number, number]): Row => ({
    what: `\`ollie pub\` of one event, whole process, ${mode}`,
    reach: "at most 1.25 × an empty program",
    measured: `${(pub / nothing).toFixed(2)} × (${pub.toFixed(1)} ms to ${nothing.toFixed(1)} ms)`,
  });
  const rows = [row("run", await inTurn(TIMES, [...RUN, EMPTY], [...RUN, CLI, "pub", bus]))];
  try {
    Deno.statSync(EXECUTABLE);
    await execute([Deno.execPath(), "compile", "--quiet", "--no-prompt", "--output", `${directory.path}/empty`, EMPTY]);
  } catch {
    console.error("without dist/ollie, which `deno task compile` builds, the start-up of the executable is left out");
    return rows;
  }
  return [...rows, row("compiled", await inTurn(TIMES, [`${directory.path}/empty`], [EXECUTABLE, "pub", bus]))];
}
