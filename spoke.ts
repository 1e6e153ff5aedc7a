/**
 * The client of a hub by itself, for browsers, and for whoever needs nothing else: {@linkcode Spoke}. It needs nothing but what
 * browsers have, so it runs in Node (22 and later), Bun and Deno as well. All that is here is in the main module, too.
 *
 * ```ts ignore
 * import { Spoke } from "@ollie/ollie/spoke";
 *
 * const spoke = new Spoke("ws://127.0.0.1:8080/"); // where `ollie hub` is
 * spoke.addEventListener("message.*", ({ topic, detail }) => console.log(topic, detail));
 * spoke.dispatchEvent(new CustomEvent("message.sent:conv-123", { detail: { text: "hello" } }));
 * ```
 *
 * @module
 */
export { BusError } from "./lib/bus.ts";
export { TopicError } from "./lib/event.ts";
export { FilterError } from "./lib/filter.ts";
export {
  Spoke,
  SpokeEvent,
  type SpokeEventInit,
  type SpokeListener,
  type SpokeOptions,
  type SpokeStatus,
  type SpokeStatusType,
} from "./lib/hub/spoke.ts";
