/**
 * `deno task demo`: a bus with something going on, to look at with all that there is. It ends with Ctrl-C, and leaves nothing.
 *
 * Where the environment variable OLLIE names the executable, it is that which is shown, and else the source.
 *
 * @module
 */
import { openBus } from "../mod.ts";
import { ENTRY, PERMISSIONS, ROOT } from "../release/executable.ts";
import { perform, type Publish } from "./services.ts";
import { quoted, Stage } from "./stage.ts";

/** Where the dashboard is, unless somebody else is there. */
const PORT = "8080";

/** What is kept. A demo that runs for days is not to fill the disk. */
const RETAINED = "keep=5000";

/** What starts ollie from its source, with the permissions that the executable has. */
const FROM_SOURCE = [
  ...[Deno.execPath(), "run", "--quiet", ...PERMISSIONS],
  Deno.realPathSync(new URL(ENTRY, ROOT)),
];

Deno.exit(await main());

async function main(): Promise<number> {
  const ended = firstSignal();
  const executable = Deno.env.get("OLLIE");
  try {
    await using stage = new Stage(executable === undefined ? FROM_SOURCE : [Deno.realPathSync(executable)]);
    const signal = await Promise.race([ended, orphaned(), show(stage)]);
    return signal === "SIGINT" ? 130 : 0;
  } catch (error) {
    console.error(`demo: ${error instanceof Error ? error.message : error}`);
    return 1;
  }
}

/** Starts the servers and lets something go on, until a server is told to end, or something fails. */
async function show(stage: Stage): Promise<Deno.Signal> {
  const path = `${stage.directory}/bus`;
  const socket = await stage.start("serve9p", "--listen", `unix:${stage.directory}/9p`, path);
  const hub = (port: string) => stage.start("hub", "--listen", port, "--retain", RETAINED, path);
  const url = await hub(PORT).catch(() => hub("0"));
  console.log(invitation(stage, path, socket, url));
  await using bus = await openBus(path);
  const publish: Publish = async (topic, payload) => {
    await bus.publish(topic, typeof payload === "string" ? payload : JSON.stringify(payload));
  };
  return await Promise.race([stage.fell, perform(publish)]);
}

function invitation(stage: Stage, path: string, socket: string, url: string): string {
  const ollie = quoted(stage.ollie);
  return `A shop, a chat, agents, sensors and a build publish to one bus now. Watch them in a browser, at ${url}/
or in another terminal, with any of these:

# what sessions are up to, from the directory ${path}
${ollie} sub -m -n -f text -e 'session.*.state' ${quoted(path)}

# what is said in the chat, over 9P: write the filter, then read
echo 'message.sent:*' | ${ollie} 9p -a ${quoted(socket)} rdwrs event

# what becomes of orders, over WebSocket
${ollie} sub -m -n -f json -e 'order.>' ${quoted(url.replace("http:", "ws:"))}

# say something yourself: whoever watches the chat will see it
echo hello | ${ollie} pub ${quoted(path)} message.sent:conv-123

Ctrl-C ends this, and removes ${stage.directory}.`;
}

/** Waits for what ends the demo: Ctrl-C, a polite kill, or that its terminal is closed. The next has its usual effect. */
function firstSignal(): Promise<Deno.Signal> {
  const { promise, resolve } = Promise.withResolvers<Deno.Signal>();
  const listeners = (["SIGINT", "SIGTERM", "SIGHUP"] as const).map((signal) =>
    [signal, () => resolve(signal)] as const
  );
  for (const [signal, listener] of listeners) Deno.addSignalListener(signal, listener);
  return promise.finally(() => {
    for (const [signal, listener] of listeners) Deno.removeSignalListener(signal, listener);
  });
}

/** Waits until whoever has started this is gone: a task runner that was killed does not say so. */
async function orphaned(): Promise<Deno.Signal> {
  const parent = Deno.ppid;
  while (Deno.ppid === parent) await new Promise((resolve) => setTimeout(resolve, 1000));
  return "SIGHUP";
}
