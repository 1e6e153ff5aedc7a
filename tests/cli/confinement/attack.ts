/**
 * What somebody would try who has found a hole in what reads the messages of strangers: each attempt and how it ended is a line
 * on standard error.
 */

const ATTEMPTS: Readonly<Record<string, () => unknown>> = {
  "read a file": () => Deno.readTextFileSync("/etc/passwd"),
  "read a file by node:fs": async () => (await import("node:fs")).readFileSync("/etc/passwd"),
  "read a file by importing it": () => import(`file:///etc/${"passwd"}`),
  "read a file by having a module import it": () => import(moduleOf(`import "file:///etc/passwd";`)),
  "read a file by starting it as a worker": () => workerSays("file:///etc/passwd"),
  "import from the network": () => import(`http://127.0.0.1:${9001}/`),
  "list a directory": () => [...Deno.readDirSync("/")],
  "look at a file": () => Deno.statSync("/etc/passwd"),
  "write a file": () => Deno.removeSync(Deno.makeTempFileSync()),
  "change directory": () => Deno.chdir("/"),
  "connect out": () => Deno.connect({ hostname: "127.0.0.1", port: 9 }),
  "resolve a name": () => Deno.resolveDns("example.org", "A"),
  "fetch": () => fetch("http://127.0.0.1:9001/"),
  "open a WebSocket": () => new WebSocket("ws://127.0.0.1:9001/"),
  "listen elsewhere": () => Deno.listen({ hostname: "127.0.0.1", port: 9001 }).close(),
  "start a program": () => new Deno.Command("true").outputSync(),
  "start a program by node": async () => {
    const { error } = (await import("node:child_process")).spawnSync("true");
    if (error !== undefined) throw error;
  },
  "signal a process": () => Deno.kill(Deno.ppid, "SIGCONT"),
  "read the environment": () => Deno.env.get("PATH"),
  "ask the system": () => Deno.hostname(),
  "load a library": () => Deno.dlopen("libc.so.6", { getpid: { parameters: [], result: "i32" } }).close(),
  "have a worker do it": async () => {
    const said = await workerSays(moduleOf(
      `try { Deno.readTextFileSync("/etc/passwd"); postMessage(""); } catch (error) { postMessage(error.message); }`,
    ));
    if (said !== "") throw new TypeError(said);
  },
  "give a worker more": () =>
    new Worker("data:text/javascript,", { type: "module", deno: { permissions: { read: true } } }).terminate(),
};

/** A module as a URL. */
function moduleOf(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

/** What a worker says first. */
async function workerSays(module: string): Promise<string> {
  const worker = new Worker(module, { type: "module" });
  try {
    return await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new TypeError(event.message));
      };
    });
  } finally {
    worker.terminate();
  }
}

/** How many lines there are. */
export const ATTEMPT_COUNT = Object.keys(ATTEMPTS).length;

let begun = false;

/** Tries it all, once. */
export async function attack(): Promise<void> {
  if (begun) return;
  begun = true;
  for (const [attempt, make] of Object.entries(ATTEMPTS)) {
    const said = await Promise.resolve().then(make).then(() => "done", (error) => `${error.name}: ${error.message}`);
    console.error(`attack: ${attempt}: ${said.split("\n")[0]}`);
  }
}

if (import.meta.main) await attack();
