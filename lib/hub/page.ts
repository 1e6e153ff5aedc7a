/**
 * The dashboard's files, which stand beside this module in `page/`, as the hub serves them.
 *
 * @module
 */
import { BusError } from "../bus.ts";
import { reasonOf } from "../os_error.ts";

/** The types of what is there. */
const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** The page itself, and what it loads. */
const FILES = [
  "chart.js",
  "connection.js",
  "filter.js",
  "filter_box.js",
  "icon.svg",
  "index.html",
  "page.css",
  "page.js",
  "parts.js",
  "payload.js",
  "publisher.js",
  "resume.js",
  "ring.js",
  "seconds.js",
  "status.js",
  "tail.js",
  "topic_table.js",
  "topics.js",
  "walk.js",
  "words.js",
];

/** The page may load what this hub serves, and talk to this hub, and nothing else; and nobody may put it in a frame. */
const SECURITY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The dashboard's files, by the paths that they are served under. */
export type PageFiles = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

/**
 * Reads the dashboard's files, from wherever this module came.
 *
 * @throws {BusError} if one of them cannot be read, or may not be
 */
export async function readPage(): Promise<PageFiles> {
  return new Map(
    await Promise.all(FILES.map(async (name) => {
      const path = name === "index.html" ? "/" : `/page/${name}`;
      return [path, await contentOf(new URL(`./page/${name}`, import.meta.url))] as const;
    })),
  );
}

/** The dashboard. */
export class Page {
  readonly #files: PageFiles;

  /** @param files what {@linkcode readPage} has read */
  constructor(files: PageFiles) {
    this.#files = files;
  }

  /**
   * Answers a request for one of its files.
   *
   * @param pathname which
   * @returns `undefined` if there is no such file
   */
  respond(pathname: string): Response | undefined {
    const content = this.#files.get(pathname);
    if (content === undefined) return undefined;
    const extension = pathname === "/" ? "html" : pathname.slice(pathname.lastIndexOf(".") + 1);
    return new Response(content, {
      headers: {
        "content-type": TYPES[extension],
        "content-security-policy": SECURITY,
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",
      },
    });
  }
}

/** On a disk, in an executable, or at a registry, which is asked over the network. */
async function contentOf(url: URL): Promise<Uint8Array<ArrayBuffer>> {
  try {
    if (url.protocol === "file:") return await Deno.readFile(url);
    const response = await fetch(url);
    const content = new Uint8Array(await response.arrayBuffer());
    if (!response.ok) throw new Error(`the answer was ${response.status}`);
    return content;
  } catch (error) {
    throw new BusError(`cannot load the dashboard from ${url}: ${reasonOf(error)}`, { cause: error });
  }
}
