/** The workflows, which nobody sees run before they matter: what they name is there. */
import assert from "node:assert/strict";
import project from "../../deno.json" with { type: "json" };
import { ROOT } from "../../release/executable.ts";
import { TARGETS } from "../../release/targets.ts";
import { has } from "../cli/ollie.ts";
import { within } from "../deadline.ts";
import { exists } from "../temporary.ts";

const NAMES = ["ci.yml", "release.yml"];

/** What checks workflows, to the versions of actions and the types of expressions. */
const ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";

function read(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
}

/** All that a pattern's first group matches. */
function* find(text: string, pattern: RegExp): Iterable<string> {
  for (const [, found] of text.matchAll(pattern)) yield found;
}

Deno.test("the tasks, programs and the version of Deno that the workflows name are those of the project", () => {
  const [newest] = find(read(".ci/run"), /^NEWEST=(\S+)$/gm);
  for (const name of NAMES) {
    const text = read(`.github/workflows/${name}`);
    for (const task of find(text, /deno task (\S+)/g)) assert(Object.hasOwn(project.tasks, task), `${name}: ${task}`);
    for (const path of find(text, /(\S+\.ts|\.ci\/run|\.\/\S+\.yml)\b/g)) {
      assert(exists(new URL(path, ROOT).pathname), `${name}: ${path}`);
    }
    for (const version of find(text, /deno-version: (\S+)/g)) assert.equal(version, newest, name);
  }
});

Deno.test("every executable is tried on a machine that it is for before it is released", () => {
  const tried = [...find(read(".github/workflows/release.yml"), /target: (\S+) \}/g)];
  assert.deepEqual(tried, TARGETS.map(({ triple }) => triple));
});

const actionlint = has("actionlint") ? ["actionlint"] : has("go") ? ["go", "run", ACTIONLINT] : undefined;
if (actionlint === undefined) console.error("there is no actionlint on this machine: the workflows are not checked");

Deno.test({
  name: "actionlint has nothing to say about the workflows",
  ignore: actionlint === undefined,
  fn: async () => {
    assert(actionlint !== undefined);
    const [program, ...args] = [...actionlint, ...NAMES.map((name) => `.github/workflows/${name}`)];
    const command = new Deno.Command(program, { args, cwd: ROOT, env: { NO_COLOR: "1" } });
    const { code, stdout, stderr } = await within(command.output(), "the end of actionlint", 600_000);
    assert.equal(code, 0, new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr));
  },
});
