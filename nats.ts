/**
 * NATS as a bus by itself: {@linkcode NatsBus}. `openBus("nats://…")` of the main module finds it, too, but only as the program runs:
 * a program that is bundled or compiled, or may load nothing then, imports it from here. It brings the NATS client, which nothing
 * else of Ollie needs.
 *
 * ```ts ignore
 * import { NatsBus } from "@ollie/ollie/nats";
 *
 * await using bus = new NatsBus("nats://nats.example/app", { stream: "EVENTS", createStream: true });
 * await bus.publish("color", "red");
 * ```
 *
 * @module
 */
export * from "./lib/bus.ts";
export { NatsBus } from "./lib/bus/nats.ts";
export type { NatsOptions } from "./lib/bus/nats/options.ts";
export { type BusEvent, checkTopic, MAX_TOPIC_BYTES, RESERVED_PREFIX, TopicError } from "./lib/event.ts";
export { checkFilter, FilterError } from "./lib/filter.ts";
