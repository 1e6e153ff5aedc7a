/**
 * Ollie: an event bus that a shell script, a mount and a browser can all use. This module is for programs that publish and
 * subscribe themselves; {@linkcode openBus} is where they begin.
 *
 * ```ts
 * import { openBus } from "@ollie/ollie";
 *
 * await using bus = await openBus(Deno.makeTempDirSync());
 * await bus.publish("color", "red");
 * for await (const event of bus.subscribe("color", { from: "start" })) {
 *   console.log(event.topic, new TextDecoder().decode(event.payload));
 *   break;
 * }
 * ```
 *
 * @module
 */
export { openBus } from "./lib/open.ts";
export * from "./lib/bus.ts";
export { DirectoryBus, type DirectoryBusOptions } from "./lib/bus/directory.ts";
export { NinepBus } from "./lib/bus/ninep.ts";
export { HubBus, type HubBusOptions } from "./lib/bus/hub.ts";
export { MemoryBus, type MemoryBusOptions } from "./lib/bus/memory.ts";
export { type AddConnectionOptions, Hub, type HubOptions, type HubStats } from "./lib/hub/hub.ts";
export { BATCH_PROTOCOL } from "./lib/hub/protocol.ts";
export { Access, type AccessOptions } from "./lib/hub/access.ts";
export type { HubConnection } from "./lib/hub/connection.ts";
export type { HubSocket, MessagePortSocket, TellsEvents, TextSocket } from "./lib/hub/socket.ts";
export { type BusEvent, checkTopic, MAX_TOPIC_BYTES, RESERVED_PREFIX, TopicError } from "./lib/event.ts";
export { checkFilter, compileFilter, filterCovers, FilterError, FilterTree } from "./lib/filter.ts";
export { type Clock, formatTime, systemClock } from "./lib/time.ts";
export {
  Spoke,
  SpokeEvent,
  type SpokeEventInit,
  type SpokeListener,
  type SpokeOptions,
  type SpokeStatus,
  type SpokeStatusType,
} from "./lib/hub/spoke.ts";
