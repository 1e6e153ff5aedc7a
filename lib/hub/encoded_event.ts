/**
 * An event as it is sent: its frames are made once, however many receive it.
 *
 * @module
 */
import type { BusEvent } from "../event.ts";
import { envelopeOf, withPosition } from "./envelope.ts";
import { type Frame, frameOf } from "./outbox.ts";

/** An event with its frames. */
export class EncodedEvent {
  /** The event. */
  readonly event: BusEvent;
  /** Its frame. */
  readonly plain: Frame;
  #positioned: Frame | undefined;

  /** @param event any */
  constructor(event: BusEvent) {
    this.event = event;
    this.plain = frameOf(envelopeOf(event));
  }

  /** The same with where it is on the bus, which is made when somebody wants it. */
  get positioned(): Frame {
    return this.#positioned ??= frameOf(withPosition(this.plain.text, this.event));
  }
}
