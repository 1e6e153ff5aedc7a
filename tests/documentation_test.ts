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

/** What `deno doc` tells of a module, as JSON. */
function documentationOf(module: string): string {
  const { stdout } = new Deno.Command(Deno.execPath(), { args: ["doc", "--json", module], cwd: ROOT }).outputSync();
  return new TextDecoder().decode(stdout);
}

/** What a module exports. Deno before 2.9 tells of it in a list, later ones by module and symbol. */
function exportsIn(documentation: string): Declaration[] {
  const { nodes } = JSON.parse(documentation);
  if (Array.isArray(nodes)) return nodes;
  const [{ symbols }]: { symbols: { name: string; declarations: Omit<Declaration, "name">[] }[] }[] = Object.values(
    nodes,
  );
  return symbols.flatMap(({ name, declarations }) => declarations.map((declaration) => ({ ...declaration, name })));
}

for (const module of ["mod.ts", "spoke.ts", "nats.ts"]) {
  Deno.test(`every function and class of ${module} but the errors has an example that runs`, () => {
    const all = exportsIn(documentationOf(module)).filter(({ kind, name }) =>
      kind === "function" || (kind === "class" && !name.endsWith("Error"))
    );
    assert(all.length > 1);
    const without = all.filter(({ jsDoc }) =>
      !jsDoc?.tags?.some(({ kind, doc }) => kind === "example" && /^```ts$/m.test(doc ?? ""))
    );
    assert.deepEqual(without.map(({ name }) => name), []);
  });

  Deno.test(`what the documentation of ${module} links to is there`, () => {
    const documentation = documentationOf(module);
    const names = new Set(exportsIn(documentation).map(({ name }) => name));
    const links = Array.from(documentation.matchAll(/\{@link(?:code)? ([^}]+)\}/g), ([, target]) => target);
    assert(links.length > 0);
    assert.deepEqual(links.filter((target) => !names.has(target.split(".")[0])), []);
  });
}
