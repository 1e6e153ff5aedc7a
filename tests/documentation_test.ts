/** What others import is documented by examples that run: `deno test --doc` runs those that there are. */
import assert from "node:assert/strict";

const ROOT = new URL("../", import.meta.url);

/** A declaration, as `deno doc --json` tells of it. */
interface Declaration {
  readonly name: string;
  readonly kind: string;
  readonly jsDoc?: {
    readonly doc?: string;
    readonly tags?: readonly { readonly kind: string; readonly doc?: string }[];
  };
}

/** What a module exports. Deno before 2.9 tells of it in a list, later ones by module and symbol. */
function exportsOf(module: string): Declaration[] {
  const { stdout } = new Deno.Command(Deno.execPath(), { args: ["doc", "--json", module], cwd: ROOT }).outputSync();
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout));
  if (Array.isArray(nodes)) return nodes;
  const [{ symbols }]: { symbols: { name: string; declarations: Omit<Declaration, "name">[] }[] }[] = Object.values(
    nodes,
  );
  return symbols.flatMap(({ name, declarations }) => declarations.map((declaration) => ({ ...declaration, name })));
}

for (const module of ["mod.ts", "spoke.ts"]) {
  Deno.test(`every function and class of ${module} but the errors has an example that runs`, () => {
    const all = exportsOf(module).filter(({ kind, name }) =>
      kind === "function" || (kind === "class" && !name.endsWith("Error"))
    );
    assert(all.length > 1);
    const without = all.filter(({ jsDoc }) =>
      !jsDoc?.tags?.some(({ kind, doc }) => kind === "example" && /^```ts$/m.test(doc ?? ""))
    );
    assert.deepEqual(without.map(({ name }) => name), []);
  });
}
