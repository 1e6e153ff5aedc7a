// A client of a hub by npm `ws`: it follows a topic, and publishes what is typed. Each envelope that comes is printed.
const { createInterface } = require("node:readline");
const WebSocket = require("ws");

const [url, topic, ...protocols] = process.argv.slice(2);
const socket = new WebSocket(url, protocols);
socket.on("open", () => {
  console.error("protocol", socket.protocol);
  socket.send(JSON.stringify({ type: "__subscribe", payload: { topic } }));
  socket.send(JSON.stringify({ type: "__ping", payload: null }));
});
socket.on("message", (data) => console.log(String(data)));
socket.on("close", (code, reason) => console.log("closed", code, String(reason)));
createInterface({ input: process.stdin }).on("line", (line) => socket.send(line)).on("close", () => socket.close(1000));
