/**
 * Events in a row that go to the same connections: these are given all of them at once, and share one list of frames.
 *
 * @module
 */
import type { EncodedEvent } from "./encoded_event.ts";
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
  #plain: Frames | undefined;
  #positioned: Frames | undefined;

  /**
   * @param topic theirs
   * @param receivers who is subscribed to it
   */
  constructor(topic: string, receivers: readonly Receiver[]) {
    this.topic = topic;
    this.receivers = receivers;
  }

  /** The frames of its events, with where these are on the bus or without. From then on, it has all that it is to have. */
  frames(positioned: boolean): Frames {
    if (positioned) return this.#positioned ??= framesOf(this.events.map((encoded) => encoded.positioned));
    return this.#plain ??= framesOf(this.events.map((encoded) => encoded.plain));
  }
}

function framesOf(list: readonly Frame[]): Frames {
  return { list, bytes: list.reduce((sum, { bytes }) => sum + bytes, 0) };
}
