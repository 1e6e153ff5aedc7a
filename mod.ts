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
 * Everything that carries events is a {@linkcode Bus}; everything that shows events to others takes a `Bus`, also one of your own.
 *
 * | what | for what | where it runs |
 * | --- | --- | --- |
 * | {@linkcode openBus} | the bus at an address | anywhere |
 * | {@linkcode MemoryBus} | a bus within one process | anywhere |
 * | {@linkcode HubBus} | a hub as a bus, over WebSocket | anywhere |
 * | {@linkcode DirectoryBus} | a directory as a bus | Deno |
 * | {@linkcode NinepBus} | a 9P server's files as a bus | Deno |
 * | {@linkcode Hub} | a bus for browsers and services, behind any server of WebSockets | anywhere |
 * | {@linkcode serve9p} | a bus as files, for mounts and 9P clients | Deno |
 * | {@linkcode Spoke} | a hub as an `EventTarget`; also by itself, as `@ollie/ollie/spoke` | anywhere |
 *
 * Anywhere is Deno 2.4, Node 22, Bun 1 and browsers, and what came after. In Deno, a directory takes the permission to read and
 * to write it; TCP and a hub take the network; a socket in the file system takes all three.
 *
 * @module
 */
export { openBus } from "./lib/open.ts";
export * from "./lib/bus.ts";
export { DirectoryBus, type DirectoryBusOptions } from "./lib/bus/directory.ts";
export { NinepBus } from "./lib/bus/ninep.ts";
export { HubBus, type HubBusOptions } from "./lib/bus/hub.ts";
export type { NatsOptions } from "./lib/bus/nats/options.ts";
export { MemoryBus, type MemoryBusOptions } from "./lib/bus/memory.ts";
export { serve9p, type Serve9pOptions, type Serving9p } from "./lib/ninep/serve.ts";
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
