/**
 * What docs/scale.md reckons with: `deno task bench:scale`, or `deno task bench:scale servers` for some of it. Each figure is a cost
 * of one operation, as a median and from the least to the most of several runs: how fast a machine with more cores, or fewer who
 * share them, is at many is for the reader to work out.
 */
import { arrangements } from "./scale/arrangements.ts";
import { connections, encrypted } from "./scale/connections.ts";
import { type Cost, disturbance, shown } from "./scale/cost.ts";
import { deliveries } from "./scale/deliveries.ts";
import { returns } from "./scale/returns.ts";
import { servers } from "./scale/servers.ts";
import { has } from "./server.ts";

const COSTS: Readonly<Record<string, () => Promise<Cost[]>>> = { connections, encrypted, returns, deliveries, servers };

/** Each prints a table. */
const TABLES: Readonly<Record<string, () => Promise<string[]>>> = {
  ...Object.fromEntries(Object.entries(COSTS).map(([name, measure]) => [name, async () => tableOf(await measure())])),
  arrangements,
};

function tableOf(costs: readonly Cost[]): string[] {
  return [
    "| what | median (from least to most) | of |",
    "| --- | --- | --- |",
    ...costs.map(({ what, unit, values }) => `| ${what} | ${shown(values)} | ${unit} |`),
  ];
}

const asked = Deno.args.length > 0 ? Deno.args : Object.keys(TABLES);
const unknown = asked.find((name) => !Object.hasOwn(TABLES, name));
if (unknown !== undefined) {
  console.error(`there is no measurement ${unknown}: there are ${Object.keys(TABLES).join(", ")}`);
  Deno.exit(2);
}
if (!has("nats-server") || !has("openssl")) {
  console.error("this takes nats-server and openssl, and one of them is not there");
  Deno.exit(1);
}
for (const name of asked) console.log((await TABLES[name]()).join("\n") + "\n");
console.log(disturbance());
