// The same by the WebSocket that the runtime has, as a browser has it: Node's, Bun's.
import { createInterface } from "node:readline";

const [url, topic, ...protocols] = process.argv.slice(2);
const socket = new WebSocket(url, protocols);
socket.addEventListener("open", () => {
  console.error("protocol", socket.protocol);
  socket.send(JSON.stringify({ type: "__subscribe", payload: { topic } }));
  socket.send(JSON.stringify({ type: "__ping", payload: null }));
});
socket.addEventListener("message", ({ data }) => console.log(data));
socket.addEventListener("close", ({ code, reason }) => console.log("closed", code, reason));
createInterface({ input: process.stdin }).on("line", (line) => socket.send(line)).on("close", () => socket.close(1000));
