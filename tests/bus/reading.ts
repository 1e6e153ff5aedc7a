/** Reading subscriptions in tests. */
import type { BusEvent, Subscription } from "../../mod.ts";
import { within } from "../deadline.ts";

/** The payloads of events, as text. */
export function payloadsOf(events: readonly (BusEvent | undefined)[]): (string | undefined)[] {
  return events.map((event) => event && new TextDecoder().decode(event.payload));
}

/** The next few events; fewer if the subscription ends. */
export async function take(subscription: Subscription, count: number): Promise<BusEvent[]> {
  const events: BusEvent[] = [];
  while (events.length < count) {
    const { value } = await within(subscription.next(), `event ${events.length + 1} of ${count}`);
    if (value === undefined) break;
    events.push(value);
  }
  return events;
}

/** The payloads of the next few events, as text. */
export async function textsOf(subscription: Subscription, count: number): Promise<(string | undefined)[]> {
  return payloadsOf(await take(subscription, count));
}
