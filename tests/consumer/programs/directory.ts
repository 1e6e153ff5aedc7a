// A program in Deno, with as little as may be: it publishes to a directory and subscribes to it.
import { type Bus, BusError, type BusEvent, openBus, type Position, type Published, TopicError } from "@ollie/ollie";

const [path = ""] = Deno.args;
await using bus: Bus = await openBus(path);
const published: Published = await bus.publish("color", "red");
const stop = new AbortController();
const colors = bus.subscribe(["color", "session.*.state"], { from: "start", signal: stop.signal });
const position: Position | undefined = await colors.ready;
if (position === undefined) throw new Error("a directory keeps its events");
await bus.publish("session.abc123.state", Uint8Array.of(0, 255));

const heard: BusEvent[] = [];
for await (const event of colors) {
  heard.push(event);
  if (heard.length === 2) stop.abort();
}
const [first, second] = heard;
console.log(first?.id === published.id, first?.time === published.time, first?.topic, second?.topic, second?.payload);

for (const attempt of [() => bus.publish("two words", ""), () => openBus("kafka://a")]) {
  try {
    await attempt();
  } catch (error) {
    console.log(error instanceof TopicError ? "TopicError" : error instanceof BusError ? "BusError" : error);
  }
}

// What carries the others is at hand as well, though nothing more may be loaded.
const others = await Promise.all(["mem:", "unix:/run/ollie", "ws://localhost:8080"].map((address) => openBus(address)));
console.log(others.map(({ constructor }) => constructor.name).join(" "));
