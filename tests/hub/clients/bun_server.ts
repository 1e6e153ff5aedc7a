// The hub itself, in Bun, behind Bun.serve: a socket there has no listeners, so its handlers call the hub. Prints the port.
// @ts-nocheck: Bun's types are not among Deno's.
import { MemoryBus } from "../../../lib/bus/memory.ts";
import { Hub } from "../../../lib/hub/hub.ts";
import port from "./port.cjs";

const hub = new Hub(new MemoryBus(), { maxBuffer: 100_000 });
await hub.ready;
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch(request, server) {
    const batch = (request.headers.get("sec-websocket-protocol") ?? "").includes("ollie.batch.v1");
    const headers = batch ? { "sec-websocket-protocol": "ollie.batch.v1" } : {};
    if (!server.upgrade(request, { data: { batch }, headers })) {
      return new Response("a WebSocket, please", { status: 426 });
    }
  },
  websocket: {
    open: (socket) => hub.addConnection(socket, { batch: socket.data.batch }),
    message: (socket, data) => hub.receive(socket, data),
    close: (socket) => hub.removeConnection(socket),
  },
});
console.log(server.port);
await port(hub);
process.stdin.on("end", async () => {
  await hub.close();
  console.log(JSON.stringify(hub.stats));
  server.stop();
}).resume();
