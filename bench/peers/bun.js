/** The fan-out that Bun has built in: a topic of its server, run by Bun. A client subscribes by sending one byte. */
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request, server) => server.upgrade(request) ? undefined : new Response("a WebSocket is wanted here"),
  websocket: {
    message(socket, data) {
      if (data.length === 1) socket.subscribe("events");
      else server.publish("events", data);
    },
  },
});
console.log(`listening on http://127.0.0.1:${server.port}`);
