/**
 * What a hub on Node looks like without a hub: npm `ws`, and every message sent to everybody. Its argument is the directory into
 * which `ws` was installed. A client subscribes by sending one byte.
 */
import { createRequire } from "node:module";
import process from "node:process";

const { WebSocketServer } = createRequire(`${process.argv[2]}/`)("ws");
const subscribers = new Set();
const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
server.on("listening", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
server.on("connection", (socket) => {
  socket.on("message", (data) => {
    if (data.length === 1) subscribers.add(socket);
    // As text: a Buffer would leave as a binary frame.
    else for (const subscriber of subscribers) subscriber.send(data, { binary: false });
  });
  socket.on("close", () => subscribers.delete(socket));
});
