// The hub itself, in Node, behind npm `ws`: its sources are read as they are. Prints the port.
const { WebSocketServer } = require("ws");

async function main() {
  const [{ Hub }, { MemoryBus }] = await Promise.all([
    import("../../../lib/hub/hub.ts"),
    import("../../../lib/bus/memory.ts"),
  ]);
  const hub = new Hub(new MemoryBus(), { maxBuffer: 100_000 });
  await hub.ready;
  const server = new WebSocketServer({
    host: "127.0.0.1",
    port: 0,
    handleProtocols: (offered) => offered.has("ollie.batch.v1") ? "ollie.batch.v1" : false,
  });
  server.on("connection", (socket) => hub.addConnection(socket));
  server.on("listening", () => console.log(server.address().port));
  await require("./port.cjs")(hub);
  process.stdin.on("end", async () => {
    await hub.close();
    console.log(JSON.stringify(hub.stats));
    server.close();
  }).resume();
}
main();
