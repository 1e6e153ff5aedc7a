// A program for Node, Bun and Deno alike: answers what it hears, through a Spoke and through a HubBus, until it is told to stop.
// It does not call exit: that it ends shows that nothing is left behind which would keep it.
import { HubBus } from "../../../lib/bus/hub.ts";
import { Spoke } from "../../../lib/hub/spoke.ts";

const [url] = globalThis.Deno?.args ?? process.argv.slice(2);
const spoke = new Spoke(url);
const bus = new HubBus(url);
const events = bus.subscribe("ask.bytes");

spoke.addEventListener("ask.room:*", (event) => {
  const { topic, id, time, detail } = event;
  spoke.dispatchEvent(new CustomEvent("answer.spoke", { detail: { topic, hasId: id !== "" && time !== "", detail } }));
});
spoke.addEventListener("stop", async () => {
  await spoke.close();
  await bus[Symbol.asyncDispose]();
}, { once: true });

spoke.addEventListener("__disconnected", () => console.log("disconnected"));
spoke.addEventListener("__connected", async () => {
  await Promise.all([spoke.ready, events.ready]);
  console.log("ready");
});
for await (const { payload } of events) {
  await bus.publish("answer.bus", payload.toReversed());
  console.log("published");
}
console.log("stopped");
