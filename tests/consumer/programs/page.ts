/// <reference lib="dom" />
// A page's script in TypeScript, for which there is no Deno: it is only checked.
import { BusError, Spoke, type SpokeEvent, type SpokeStatus } from "@ollie/ollie/spoke";

const spoke: EventTarget & Spoke = new Spoke("wss://example.com/", { token: "secret", maxQueueBytes: 1024 });
spoke.addEventListener<{ text: string }>("message.*", ({ detail, topic, id }: SpokeEvent<{ text: string }>) => {
  document.title = `${detail.text} ${topic} ${id}`;
});
spoke.addEventListener("__error", ({ detail }: CustomEvent<SpokeStatus>) => console.error(detail.reason, detail.topic));
// @ts-expect-error -- what is in an event of one's own is not known to be of this shape
spoke.addEventListener("message.*", ({ detail }) => detail.text);
// @ts-expect-error -- a token is text
new Spoke("wss://example.com/", { token: 1 });
spoke.ready.catch((error: unknown) => error instanceof BusError && console.error(error.message));
