/**
 * Events in a row that go to the same connections: these are given all of them at once, and share one list of frames.
 *
 * @module
 */
import type { Details, EncodedEvent } from "./encoded_event.ts";
import type { Frame } from "./outbox.ts";

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
  readonly events: EncodedEvent[] = [];
  readonly #frames: { [Key in Details]?: Frames } = {};

  /**
   * @param topic theirs
   * @param receivers who is subscribed to it
   */
  constructor(topic: string, receivers: readonly Receiver[]) {
    this.topic = topic;
    this.receivers = receivers;
  }

  /** The frames of its events, with some details. From then on, it has all that it is to have. */
  frames(details: Details): Frames {
    return this.#frames[details] ??= framesOf(this.events.map((encoded) => encoded.frame(details)));
  }
}

function framesOf(list: readonly Frame[]): Frames {
  return { list, bytes: list.reduce((sum, { bytes }) => sum + bytes, 0) };
}
