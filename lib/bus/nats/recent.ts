/**
 * The events that have come last, in memory: who keeps up reads them here, and so does who was away for a moment, at no cost to
 * the server.
 *
 * @module
 */
import type { GapError } from "../../bus.ts";
import type { BusEvent } from "../../event.ts";
import { EVENT_BYTES } from "../subscription.ts";

/** How many bytes of events are kept, beyond the last one. */
const MAX_BYTES = 8 * 1024 * 1024;

/** What has come, with its number in the stream: an event, or what is to be told in the place of some. */
export interface Arrival {
  /** Its number in the stream. */
  readonly sequence: number;
  /** What it is. */
  readonly what: BusEvent | GapError;
}

/** Arrivals in their order. Positions count all that ever were pushed, and stay right when the oldest are forgotten. */
export class RecentEvents {
  #arrivals: Arrival[] = [];
  /** How many of those at the beginning of the array are forgotten. */
  #head = 0;
  /** The position of the first in the array. */
  #first = 0;
  #bytes = 0;
  #base: number;

  /** @param base the sequence that all which will be pushed comes after */
  constructor(base: number) {
    this.#base = base;
  }

  /** The sequence after which nothing has been forgotten. */
  get base(): number {
    return this.#base;
  }

  /** The position of the oldest. */
  get start(): number {
    return this.#first + this.#head;
  }

  /** The position after the newest. */
  get end(): number {
    return this.#first + this.#arrivals.length;
  }

  /** Adds one, and tells its position. */
  push(arrival: Arrival): number {
    this.#arrivals.push(arrival);
    this.#bytes += bytesOf(arrival);
    while (this.#bytes > MAX_BYTES && this.#head < this.#arrivals.length - 1) {
      const oldest = this.#arrivals[this.#head++];
      this.#bytes -= bytesOf(oldest);
      this.#base = oldest.sequence;
    }
    if (this.#head * 2 > this.#arrivals.length) {
      this.#arrivals = this.#arrivals.slice(this.#head);
      this.#first += this.#head;
      this.#head = 0;
    }
    return this.end - 1;
  }

  /** The one at a position from `start` to before `end`. */
  at(position: number): Arrival {
    return this.#arrivals[position - this.#first];
  }

  /** The position of the first that comes after a sequence, which is none of those that may have been forgotten. */
  positionAfter(sequence: number): number {
    let low = this.start;
    for (let high = this.end; low < high;) {
      const middle = (low + high) >>> 1;
      if (this.at(middle).sequence > sequence) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function bytesOf({ what }: Arrival): number {
  return (what instanceof Error ? 0 : what.payload.length) + EVENT_BYTES;
}
