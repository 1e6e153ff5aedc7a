/** What connections take that have nothing to receive: memory, in the hub and in the kernel, and time to come and to stay. */
import { execute, temporaryDirectory } from "../measure.ts";
import { Client, startHub } from "./client.ts";
import { type Cost, repeated } from "./cost.ts";

const COUNT = 10_000;
const TLS_COUNT = 2000;

/** How long they are watched while nothing happens, in milliseconds: as long as the hub takes to ask each whether it is there. */
const IDLE_MS = 30_000;

/** What the kernel keeps for a socket that is watched by an event loop, of those that have a name. */
const SLABS = ["TCP", "sock_inode_cache", "filp", "eventpoll_epi"];

const PAGE_BYTES = 4096;

/** Everything about connections that have nothing to receive. */
export function connections(): Promise<Cost[]> {
  return repeated(
    [
      ["connection: memory in the hub", "KB"],
      ["connection: memory in the kernel, the hub's end", "KB"],
      ["a subscription of it to a topic of its own: memory in the hub", "KB"],
      ["connection: to come", "µs CPU"],
      ["to subscribe", "µs CPU"],
      ["connection: to stay, for a second", "µs CPU"],
    ],
    async () => {
      await using hub = await startHub();
      const ends: [hubMemory: number, kernelBytes: number, cpu: number][] = [];
      const look = () => ends.push([hub.memory, kernelBytes(), hub.cpu]);
      look();
      const clients = await Client.connectMany(COUNT, `ws://127.0.0.1:${hub.port}/`);
      look();
      await Promise.all(clients.map((client, i) => client.subscribe(`user:${i}`)));
      look();
      await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
      look();
      for (const client of clients) client.close();
      const [start, connected, subscribed, idle] = ends;
      return [
        (connected[0] - start[0]) * 1024 / COUNT,
        // The other half is the clients' end.
        (connected[1] - start[1]) / 1024 / COUNT / 2,
        (subscribed[0] - connected[0]) * 1024 / COUNT,
        (connected[2] - start[2]) * 1000 / COUNT,
        (subscribed[2] - connected[2]) * 1000 / COUNT,
        (idle[2] - subscribed[2]) * 1000 / COUNT / (IDLE_MS / 1000),
      ];
    },
    3,
  );
}

/** The same with TLS. */
export async function encrypted(): Promise<Cost[]> {
  using directory = temporaryDirectory();
  const [cert, key] = [`${directory.path}/cert.pem`, `${directory.path}/key.pem`];
  await execute([
    ..."openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost".split(
      " ",
    ),
    ..."-addext subjectAltName=IP:127.0.0.1 -keyout".split(" "),
    ...[key, "-out", cert],
  ]);
  return await repeated(
    [
      ["connection with TLS: memory in the hub", "KB"],
      ["connection with TLS: to come", "µs CPU"],
    ],
    async () => {
      await using hub = await startHub("--cert", cert, "--key", key);
      const [memory, cpu] = [hub.memory, hub.cpu];
      const clients = await Client.connectMany(TLS_COUNT, `wss://127.0.0.1:${hub.port}/`);
      const took = [(hub.memory - memory) * 1024 / TLS_COUNT, (hub.cpu - cpu) * 1000 / TLS_COUNT];
      for (const client of clients) client.close();
      return took;
    },
    3,
  );
}

/** How much the kernel keeps for sockets, on the whole machine: themselves, and what is in their buffers. */
function kernelBytes(): number {
  const slabs = Deno.readTextFileSync("/proc/slabinfo").split("\n").map((line) => line.split(/\s+/));
  const kept = slabs.filter(([name]) => SLABS.includes(name))
    .reduce((sum, [, objects, , size]) => sum + Number(objects) * Number(size), 0);
  const [, pages] = /^TCP:.* mem (\d+)/m.exec(Deno.readTextFileSync("/proc/net/sockstat")) ?? [];
  return kept + Number(pages) * PAGE_BYTES;
}
