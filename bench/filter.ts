/** One event against many filters. */
import { FilterTree } from "../mod.ts";
import { median, type Row, timed } from "./measure.ts";

/** What matching one topic costs, in microseconds, where ten of so many filters match it. */
async function cost(filters: number): Promise<number> {
  const tree = new FilterTree<number>();
  const matching = ["a.b.c", "*.b.c", "a.*.c", "a.b.*", "*.*.c", "a.*.*", "*.*.*", "a.>", "*.b.>", ">"];
  matching.forEach((filter, i) => tree.add(filter, i));
  for (let i = matching.length; i < filters; i++) {
    tree.add([`x${i}.b.c`, `a.x${i}.c`, `a.b.x${i}`, `*.x${i}.>`, `x${i % 100}.*.y${i}`][i % 5], i);
  }
  const rounds = [];
  for (let round = 0; round < 9; round++) {
    rounds.push(
      await timed(() => {
        for (let i = 0; i < 20_000; i++) if (tree.match("a.b.c").size !== 10) throw new Error("ten should match");
      }) / 20,
    );
  }
  return median(rounds);
}

/** The same matches among 100 filters and among 100,000. */
export async function filters(): Promise<Row[]> {
  const [few, many] = [await cost(100), await cost(100_000)];
  return [{
    what: "one event against 100,000 filters in the tree",
    reach: "at most 3 × against 100 filters, when as many match",
    measured: `${(many / few).toFixed(2)} × (${many.toFixed(2)} µs to ${few.toFixed(2)} µs)`,
  }];
}
