/**
 * What the README's table shows: `deno task bench`, or `deno task bench startup filters` for some of it. Each figure is a ratio
 * against something measured in the same run, or a floor; a busy machine shows in both sides of a ratio.
 */
import { latency, million, publishing, replay } from "./directory.ts";
import { fanout } from "./fanout.ts";
import { filters } from "./filter.ts";
import { hub } from "./hub.ts";
import { link } from "./link.ts";
import type { Row } from "./measure.ts";
import { nats } from "./nats.ts";
import { ninep } from "./ninep.ts";
import { startup } from "./startup.ts";

const BENCHMARKS: Readonly<Record<string, () => Promise<Row[]>>> = {
  startup,
  publishing,
  replay,
  latency,
  million,
  filters,
  ninep,
  hub,
  fanout,
  nats,
  link,
};

const asked = Deno.args.length > 0 ? Deno.args : Object.keys(BENCHMARKS);
const unknown = asked.find((name) => !Object.hasOwn(BENCHMARKS, name));
if (unknown !== undefined) {
  console.error(`there is no benchmark ${unknown}: there are ${Object.keys(BENCHMARKS).join(", ")}`);
  Deno.exit(2);
}
console.log("| what | reach | measured |\n| --- | --- | --- |");
for (const name of asked) {
  for (const { what, reach, measured } of await BENCHMARKS[name]()) console.log(`| ${what} | ${reach} | ${measured} |`);
}
