/**
 * An event as it is sent: its frames are made once, however many receive it.
 *
 * @module
 */
import type { BusEvent } from "../event.ts";
import { envelopeOf, withPosition, withVia } from "./envelope.ts";
import { type Frame, frameOf } from "./outbox.ts";

/**
 * What a connection is told of events besides what they are: nothing; where they are on the bus; or that, and on which buses they have
 * been before.
 */
export type Details = "none" | "position" | "via";

/** An event with its frames. */
export class EncodedEvent {
  /** The event. */
  readonly event: BusEvent;
  /** Its frame. */
  readonly plain: Frame;
  #positioned: Frame | undefined;
  #linked: Frame | undefined;

  /** @param event any */
  constructor(event: BusEvent) {
    this.event = event;
    this.plain = frameOf(envelopeOf(event));
  }

  /** The frame with some details, which is made when somebody wants it. */
  frame(details: Details): Frame {
    if (details === "none") return this.plain;
    const positioned = this.#positioned ??= frameOf(withPosition(this.plain.text, this.event));
    const { via } = this.event;
    if (details === "position" || via === undefined) return positioned;
    return this.#linked ??= frameOf(withVia(positioned.text, via));
  }
}
