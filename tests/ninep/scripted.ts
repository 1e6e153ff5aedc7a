/** A bus that does what it is told: how a carrier can fail at the worst moment. */
import type { Bus, Published, SubscribeOptions, Subscription } from "../../mod.ts";
import { PulledSubscription } from "../../lib/bus/subscription.ts";
import type { BusEvent } from "../../lib/event.ts";

/** An event of the topic `n`. */
export function event(id: string, payload: Uint8Array | string = id): BusEvent {
  const bytes = typeof payload === "string" ? new TextEncoder().encode(payload) : payload;
  return { id, time: "2026-05-08T12:34:56.123456789Z", topic: "n", payload: bytes };
}

/** Gives each subscription the next list of events and errors, and publishes as the test says. */
export class ScriptedBus implements Bus {
  /** Where each subscription was asked to begin. */
  readonly asked: (SubscribeOptions["from"])[] = [];
  /** How many events have been taken. */
  taken = 0;
  /** What becomes of an event. */
  readonly publish: (topic: string, payload: Uint8Array | string) => Promise<Published>;
  readonly #scripts: (readonly (BusEvent | Error)[])[];

  /**
   * @param scripts what each subscription gets, one after another; after an error that ends it, nothing
   * @param publish what becomes of an event
   */
  constructor(
    scripts: readonly (readonly (BusEvent | Error)[])[] = [],
    publish: (topic: string, payload: Uint8Array | string) => Promise<Published> = () =>
      Promise.reject(new Error("nobody publishes")),
  ) {
    this.publish = publish;
    this.#scripts = [...scripts];
  }

  subscribe(_filter: string | readonly string[], options: SubscribeOptions = {}): Subscription {
    this.asked.push(options.from);
    return new ScriptedSubscription(this.#scripts.shift() ?? [], () => this.taken++);
  }

  identity(): Promise<string> {
    return Promise.reject(new Error("nobody asks"));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

class ScriptedSubscription extends PulledSubscription {
  readonly #script: (BusEvent | Error)[];
  readonly #onTake: () => void;

  constructor(script: readonly (BusEvent | Error)[], onTake: () => void) {
    super(undefined);
    this.#script = [...script];
    this.#onTake = onTake;
    this.begun();
  }

  protected take(): BusEvent | undefined {
    const next = this.#script.shift();
    if (next === undefined) return undefined;
    this.#onTake();
    if (next instanceof Error) throw next;
    return next;
  }

  protected release(): void {}
}
