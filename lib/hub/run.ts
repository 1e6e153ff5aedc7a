/**
 * Events in a row that go to the same connections: these are given all of them at once, and share one list of frames.
 *
 * @module
 */
import type { BusEvent } from "../event.ts";
import { envelopeOf, withPosition } from "./envelope.ts";
import { type Frame, frameOf } from "./outbox.ts";

/** Frames, and how long they are together. */
export interface Frames {
  /** Nobody changes them. */
  readonly list: readonly Frame[];
  /** In bytes. */
  readonly bytes: number;
}

/** Some events of one topic. */
export class Run<Receiver> {
  /** Their topic. */
  readonly topic: string;
  /** Who is subscribed to it. */
  readonly receivers: readonly Receiver[];
  /** The events. */
  readonly events: BusEvent[] = [];
  readonly #plain: Frame[] = [];
  #plainBytes = 0;
  #positioned: Frames | undefined;

  /**
   * @param topic theirs
   * @param receivers who is subscribed to it
   */
  constructor(topic: string, receivers: readonly Receiver[]) {
    this.topic = topic;
    this.receivers = receivers;
  }

  /** Adds an event. Returns how long its frame is, in bytes. */
  push(event: BusEvent): number {
    const frame = frameOf(envelopeOf(event));
    this.events.push(event);
    this.#plain.push(frame);
    this.#plainBytes += frame.bytes;
    return frame.bytes;
  }

  /** Its frames, with where the events are on the bus or without. */
  frames(positioned: boolean): Frames {
    if (!positioned) return { list: this.#plain, bytes: this.#plainBytes };
    if (this.#positioned === undefined) {
      const list = this.#plain.map(({ text }, at) => frameOf(withPosition(text, this.events[at])));
      this.#positioned = { list, bytes: list.reduce((sum, { bytes }) => sum + bytes, 0) };
    }
    return this.#positioned;
  }
}
