/** The package as others get it: the files that would be published, served as a registry does, or copied. */

const ROOT = new URL("../../", import.meta.url);

const manifest: { name: string; version: string; exports: Record<string, string> } = JSON.parse(
  Deno.readTextFileSync(new URL("deno.json", ROOT)),
);

/** Of the package. */
export const { version } = manifest;

let files: readonly string[] | undefined;

/** The paths of the files, from the root of the package, as the publishing tool itself lists them when it has nothing against them. */
export function publishedFiles(): readonly string[] {
  return files ??= listFiles();
}

function listFiles(): readonly string[] {
  const { success, stdout, stderr } = new Deno.Command(Deno.execPath(), {
    args: ["publish", "--dry-run", "--allow-dirty"],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).outputSync();
  const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  const files = Array.from(said.matchAll(/^ +(file:\S+) \(.*B\)$/gm), ([, url]) => url.slice(ROOT.href.length));
  if (!success || files.length === 0) throw new Error(`the package cannot be published: ${said}`);
  return files;
}

/**
 * A program as somebody writes it who has the package elsewhere.
 *
 * @param program which of those in `programs/`
 * @param base what stands before the path of a file of the package, such as `http://localhost:1/` or `./ollie/`
 */
export function programFor(program: string, base: string): string {
  let text = Deno.readTextFileSync(new URL(`programs/${program}`, import.meta.url));
  for (const [entry, file] of Object.entries(manifest.exports)) {
    text = text.replaceAll(`"${manifest.name}${entry.slice(1)}"`, JSON.stringify(`${base}${file.slice(2)}`));
  }
  return text;
}

/** Copies the package into a new directory. */
export function copyTo(directory: string): void {
  for (const path of publishedFiles()) {
    const to = `${directory}/${path}`;
    Deno.mkdirSync(to.slice(0, to.lastIndexOf("/")), { recursive: true });
    Deno.copyFileSync(new URL(path, ROOT), to);
  }
}

const TYPES: Readonly<Record<string, string>> = {
  ts: "text/typescript",
  js: "text/javascript",
  json: "application/json",
};

/** Serves the package, and what is added to it; nothing else of the checkout can be had there. */
export class PackageServer implements AsyncDisposable {
  readonly #files: Set<string>;
  readonly #added = new Map<string, string>();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  /** What has been asked for and is not there. */
  readonly missing: string[] = [];

  /** Begins to serve. */
  constructor() {
    this.#files = new Set(publishedFiles());
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => this.#answer(request));
  }

  /** `HOST:PORT`, as permissions have it. */
  get host(): string {
    return `127.0.0.1:${this.#server.addr.port}`;
  }

  /** The address of the root of the package. */
  get url(): string {
    return `http://${this.host}/`;
  }

  /** Serves one more file, under its path from the root. */
  add(path: string, text: string): void {
    this.#added.set(path, text);
  }

  #answer(request: Request): Response {
    const path = new URL(request.url).pathname.slice(1);
    const added = this.#added.get(path);
    if (added === undefined && !this.#files.has(path)) {
      this.missing.push(path);
      return new Response("there is no such file", { status: 404 });
    }
    const type = TYPES[path.slice(path.lastIndexOf(".") + 1)] ?? (added === undefined ? "text/plain" : "text/html");
    return new Response(added ?? Deno.readFileSync(new URL(path, ROOT)), { headers: { "content-type": type } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}
