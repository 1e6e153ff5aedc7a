// A program for Deno, Node, Bun and browsers alike: a hub of its own, on a bus of its own, and a spoke to the hub that it is told of.
import { BusError, Hub, MemoryBus, openBus } from "@ollie/ollie";
import { BusError as SameError, Spoke } from "@ollie/ollie/spoke";

const url = globalThis.Deno?.args[0] ?? globalThis.process?.argv[2] ?? location.hash.slice(1);

const bus = new MemoryBus();
const hub = new Hub(bus);
await hub.ready;
const { port1, port2 } = new MessageChannel();
hub.addConnection(port1);
const frame = new Promise((resolve) => port2.onmessage = ({ data }) => resolve(data));
port2.postMessage('{"type":"__subscribe","payload":{"topic":"color"}}');
port2.postMessage('{"type":"color","payload":"red"}');
console.log(`hub ${await frame}`);
await hub.close();
port1.close();
port2.close();

const spoke = new Spoke(url);
const heard = new Promise((resolve) => spoke.addEventListener("message.*", resolve, { once: true }));
await spoke.ready;
spoke.dispatchEvent(new CustomEvent("message.sent:conv-123", { detail: { text: "hello" } }));
const { topic, detail } = await heard;
console.log(`spoke ${topic} ${JSON.stringify(detail)}`);
await spoke.close();

const there = await openBus(url);
const events = there.subscribe("number");
await events.ready;
await there.publish("number", "one");
console.log(`bus ${new TextDecoder().decode((await events.next()).value.payload)}`);
await events.return();
await there[Symbol.asyncDispose]();

const directory = await openBus("somewhere").then(({ constructor }) => constructor.name, (error) => {
  if (error instanceof BusError && BusError === SameError) return error.message;
  throw error;
});
console.log(`directory ${directory}`);
console.log("end");
