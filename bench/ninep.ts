/** 9P: reads against a server in Go, driven by the same client, and what events cost. */
import { NinepBus } from "../mod.ts";
import { NinepClient, type RemoteFile } from "../lib/ninep/client.ts";
import { CLI, execute, median, type Row, RUN, temporaryDirectory, thousands } from "./measure.ts";
import { has, LOAD_CORE, on, Server } from "./server.ts";

const GO = new URL("go9p", import.meta.url).pathname;
const ENDLESS = new URL("endless.ts", import.meta.url).pathname;

function serve9p(socket: string, bus = "mem:"): Promise<Server> {
  return Server.start([...RUN, "--allow-net", CLI, "serve9p", "--listen", `unix:${socket}`, bus], "stderr");
}

async function rate(load: string, ...args: readonly string[]): Promise<number> {
  const [program, ...rest] = on(LOAD_CORE, [load, ...args]);
  const { stdout, success } = await new Deno.Command(program, {
    args: rest,
    stderr: "inherit",
    env: { GOMAXPROCS: "1" },
  })
    .output();
  if (!success) throw new Error(`${load} failed`);
  return Number(new TextDecoder().decode(stdout));
}

/** Everything about 9P. */
export async function ninep(): Promise<Row[]> {
  using directory = temporaryDirectory();
  if (!has("go")) {
    console.error("without go, which builds the load and the server to measure against, 9P is left out");
    return [];
  }
  await execute(["go", "build", "-C", GO, "-o", `${directory.path}/`, "./..."]);
  const load = `${directory.path}/load`;
  return [
    ...await reads(directory.path, load),
    ...await events(directory.path, load),
    await waiting(directory.path),
    await stopped(directory.path),
  ];
}

async function reads(directory: string, load: string): Promise<Row[]> {
  const ours = `${directory}/ours`;
  const theirs = `${directory}/theirs`;
  await using _ours = await Server.start([...RUN, "--allow-net", ENDLESS, ours], "stdout");
  await using _theirs = await Server.start([`${directory}/server`, theirs], "stdout", { GOMAXPROCS: "1" });
  const rows: Row[] = [];
  for (const [outstanding, reach] of [[1, "at least 0.5 ×"], [32, "at least 1 ×"]] as const) {
    const rates: [number[], number[]] = [[], []];
    // In turn, so that both meet the machine in the same mood.
    for (let i = 0; i < 5; i++) {
      rates[0].push(await rate(load, "read", ours, `${outstanding}`, "2"));
      rates[1].push(await rate(load, "read", theirs, `${outstanding}`, "2"));
    }
    const [our, their] = rates.map(median);
    rows.push({
      what: `9P: Tread and Rread of 100 bytes, ${outstanding} outstanding, unix socket`,
      reach: `${reach} a server in Go`,
      measured: `${(our / their).toFixed(2)} × (${thousands(our)}/s to ${thousands(their)}/s)`,
    });
  }
  return rows;
}

async function events(directory: string, load: string): Promise<Row[]> {
  const socket = `${directory}/events`;
  await using _ = await serve9p(socket);
  const one = [], many = [];
  for (let i = 0; i < 3; i++) {
    one.push(await rate(load, "events", socket, "1", "1", "100000"));
    many.push(await rate(load, "events", socket, "100", "10", "50000"));
  }
  return [
    {
      what: "9P: events to one reader of `event`, published through `pub`",
      reach: "at least 20,000 events/s",
      measured: `${thousands(median(one))} events/s`,
    },
    {
      what: "9P: the same to 100 readers with different filters, a connection each; each event matches 10",
      reach: "at least 100,000 deliveries/s",
      measured: `${thousands(median(many))} deliveries/s`,
    },
  ];
}

/** How long it takes from publishing an event until the one fid of so many that waits for it has it, in milliseconds. */
async function timeToOne(socket: string, fids: number, server: Server): Promise<{ time: number; memory: number }> {
  await using client = await NinepClient.connect(`unix:${socket}`);
  await using bus = new NinepBus(`unix:${socket}`);
  const files: RemoteFile[] = [];
  for (let i = 0; i < fids; i++) {
    const file = await client.open("event", "readwrite");
    await file.write(new TextEncoder().encode(`waiting.${i}`));
    files.push(file);
  }
  const reading = files.map((file) => file.read());
  for (const read of reading) read.catch(() => {});
  await Promise.all(files.map((file) => file.read({ count: 0 })));
  const times: number[] = [];
  for (let i = 0; i < 200; i++) {
    const which = (i * 7919) % fids;
    const began = performance.now();
    const published = bus.publish(`waiting.${which}`, "x");
    await reading[which];
    times.push(performance.now() - began);
    await published;
    reading[which] = files[which].read();
    reading[which].catch(() => {});
    await files[which].read({ count: 0 });
  }
  return { time: median(times), memory: server.memory };
}

async function waiting(directory: string): Promise<Row> {
  const socket = `${directory}/waiting`;
  await using server = await serve9p(socket);
  const few = await timeToOne(socket, 10, server);
  const many = await timeToOne(socket, 10_000, server);
  return {
    what: "9P: 10,000 fids waiting in a read, one event that matches one of them",
    reach: "at most 2 × the time with 10 fids, under 150 MB",
    measured: `${(many.time / few.time).toFixed(2)} × (${many.time.toFixed(2)} ms to ${few.time.toFixed(2)} ms), ` +
      `${Math.round(many.memory)} MB`,
  };
}

/**
 * What a reader costs that stops, against one that reads: as many events pass first, twice, and are read, for the heap of a
 * server through which events pass is larger than that of one which has nothing to do.
 */
async function stopped(directory: string): Promise<Row> {
  const socket = `${directory}/stopped`;
  const bus = `${directory}/bus`;
  await using server = await serve9p(socket, bus);
  await using client = await NinepClient.connect(`unix:${socket}`);
  const count = 100_000;
  const event = await client.open("event", "readwrite");
  await event.write(new TextEncoder().encode("n"));
  await event.read({ count: 0 });
  const line = `${"x".repeat(1023)}\n`;
  const lines = `${directory}/lines`;
  Deno.writeTextFileSync(lines, line.repeat(count));
  const publish = () => execute(["sh", "-c", '"$@" < ' + lines, "-", ...RUN, CLI, "pub", "--lines", bus, "n"]);
  const readAll = async () => {
    for (let got = 0; got < count; got++) {
      const data = await event.read();
      if (data.length !== "n ".length + line.length) throw new Error(`a read brought ${data.length} bytes`);
    }
  };
  let most = 0;
  const watching = setInterval(() => most = Math.max(most, server.memory), 50);
  for (let i = 0; i < 2; i++) await Promise.all([publish(), readAll()]);
  const before = most;
  await publish();
  await readAll();
  clearInterval(watching);
  return {
    what: "9P: a reader that stops while 100,000 events of 1 KiB pass, on a directory",
    reach: "gets every one; the server grows by less than 20 MB",
    measured: `${thousands(count)} events, ${Math.round(most - before)} MB more than the ${
      Math.round(before)
    } MB before`,
  };
}
