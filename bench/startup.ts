/** How much longer than an empty program `ollie pub` takes, as a whole process. */
import { compile, ENTRY, FLAGS } from "../release/executable.ts";
import { CLI, inTurn, type Row, RUN, temporaryDirectory } from "./measure.ts";

const TIMES = 60;
const EMPTY = "bench/empty.ts";

/** One event from standard input, against an empty program that is run in the same way. */
export async function startup(): Promise<Row[]> {
  using directory = temporaryDirectory();
  const bus = `${directory.path}/bus`;
  const measure = async (mode: string, empty: readonly string[], ollie: readonly string[]): Promise<Row> => {
    const [nothing, pub] = await inTurn(TIMES, [empty, [...ollie, "pub", bus]]);
    return {
      what: `\`ollie pub\` of one event, whole process, ${mode}`,
      reach: "at most 1.25 × an empty program",
      measured: `${(pub / nothing).toFixed(2)} × (${pub.toFixed(1)} ms to ${nothing.toFixed(1)} ms)`,
    };
  };
  const rows = [await measure("run", [...RUN, new URL("empty.ts", import.meta.url).pathname], [...RUN, CLI])];
  const [empty, ollie] = [`${directory.path}/empty`, `${directory.path}/ollie`];
  if (await compile(...FLAGS, `--output=${empty}`, EMPTY) && await compile(...FLAGS, `--output=${ollie}`, ENTRY)) {
    rows.push(await measure("compiled", [empty], [ollie]));
  } else {
    console.error("where no executable can be made, its start-up is left out");
  }
  return rows;
}
