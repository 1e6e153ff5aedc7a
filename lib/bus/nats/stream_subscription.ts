/**
 * A subscription to a stream: a position in it. Who keeps up reads what the bus's feed has in memory; who does not, or asks for the
 * past, reads from the stream until there is no more to catch up with. A slow reader has a batch or two in memory, and loses nothing.
 *
 * @module
 */
import type { Position, SubscribeOptions, UnreadableEventError } from "../../bus.ts";
import type { BusEvent } from "../../event.ts";
import { compileFilters } from "../../filter.ts";
import { Queue } from "../../queue.ts";
import { EVENT_BYTES, PulledSubscription } from "../subscription.ts";
import type { Feed, FeedPlace, FeedReader } from "./feed.ts";
import { replaced } from "./gap.ts";
import { placeOfLast } from "./last.ts";
import { idOf, parseId } from "./mark.ts";
import { Past } from "./past.ts";
import type { Stream } from "./stream.ts";

/** How many bytes of events may wait to be taken before no more are read from the stream. */
const MAX_AHEAD_BYTES = 512 * 1024;

/** What a subscription needs of its bus. */
export interface StreamSource {
  /** The stream. */
  readonly stream: Stream;
  /** Finds, or begins, a feed that has all which matches these filters, and makes the reader one of its. */
  join(reader: FeedReader, filters: readonly string[]): Feed;
  /** The newest event that this bus itself has published: whoever begins now need not be told of it. */
  readonly published: FeedPlace | undefined;
}

/** A position in a stream. */
export class StreamSubscription extends PulledSubscription implements FeedReader {
  readonly #filters: readonly string[];
  readonly #matches: (topic: string) => boolean;
  readonly #onEnd: () => void;
  #source: StreamSource | undefined;
  #feed: Feed | undefined;
  /** All up to this sequence is done with. */
  #after = 0;
  /** Where it is among what the feed has in memory, once it has caught up; infinite, if nothing there is for it. */
  #position: number | undefined;
  /** What has been read from the stream, and not taken. */
  readonly #ahead = new Queue<BusEvent | UnreadableEventError>();
  #aheadBytes = 0;
  #past: Past | undefined;
  #room: (() => void) | undefined;
  #hasEnded = false;

  /**
   * @param filters what is wanted; all of them are filters
   * @param signal ends it
   * @param onEnd is called once, when it has ended
   */
  constructor(filters: readonly string[], signal: AbortSignal | undefined, onEnd: () => void) {
    super(signal);
    this.#filters = filters;
    this.#matches = compileFilters(filters);
    this.#onEnd = onEnd;
  }

  /** Begins, once its bus is connected. */
  async begin(source: StreamSource, { from = "now", window }: SubscribeOptions): Promise<void> {
    if (this.#hasEnded) return;
    this.#source = source;
    try {
      const feed = source.join(this, this.#filters);
      this.#feed = feed;
      await feed.started;
      if (from === "now") {
        const place = newest(feed.place, source.published);
        this.#after = place.sequence;
        this.#goLive(feed);
        return this.begun(window === undefined ? undefined : positionAt(place, source.stream));
      }
      let tellsRemoved = false;
      if (typeof from === "object" && "last" in from) {
        this.#after = from.last === 0
          ? feed.place.sequence
          : await placeOfLast(source.stream, this.#filters, this.#matches, from.last, () => !this.#hasEnded);
      } else if (typeof from === "object") {
        tellsRemoved = await this.#returnTo(from.after, source.stream, feed);
      }
      const position = typeof from === "object" && "after" in from
        ? { after: { id: from.after, time: "" }, seen: [] }
        : from === "start"
        ? { after: undefined, seen: [] }
        : undefined;
      if (this.#after >= feed.recent.base) this.#goLive(feed);
      else this.#catchUp(source.stream, feed, tellsRemoved);
      this.begun(position);
    } catch (error) {
      if (!this.#hasEnded) this.fail(error);
    }
  }

  override get caughtUp(): boolean | undefined {
    // Two feeds need not have come equally far.
    if (this.#feed !== undefined && !this.#feed.audience.hearsAll) return undefined;
    return super.caughtUp === true && this.#ahead.size === 0 && this.#position !== undefined;
  }

  arrived(position: number): void {
    if (this.#position === undefined) return;
    if (this.#position === Infinity) this.#position = position;
    this.wake();
  }

  protected take(): BusEvent | undefined {
    const next = this.#ahead.shift();
    if (next !== undefined) {
      this.#aheadBytes -= bytesOf(next);
      if (this.#aheadBytes <= MAX_AHEAD_BYTES) this.#room?.();
      if (next instanceof Error) throw next;
      return next;
    }
    const feed = this.#feed;
    if (feed === undefined || this.#position === undefined) return undefined;
    while (this.#position < feed.recent.end) {
      if (this.#position < feed.recent.start) {
        this.#fallBehind(feed);
        return undefined;
      }
      const { sequence, what } = feed.recent.at(this.#position++);
      if (what instanceof Error) throw what;
      if (sequence <= this.#after || !this.#matches(what.topic)) continue;
      this.#after = sequence;
      return what;
    }
    this.#position = Infinity;
    return undefined;
  }

  /** Ends it with an error, at once: what is still there could only be read with a gap. */
  override fail(error: unknown): void {
    this.release();
    super.fail(error);
  }

  protected release(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#past?.close();
    this.#room?.();
    this.#ahead.clear();
    this.#feed?.leave(this, this.#filters);
    this.#onEnd();
  }

  /** Finds the place after an event, and whether what has been removed after it is to be told. */
  async #returnTo(id: string, stream: Stream, feed: Feed): Promise<boolean> {
    const { sequence, stream: mark } = parseId(id);
    this.#after = sequence;
    if (mark === stream.mark && sequence >= feed.recent.base && sequence <= feed.place.sequence) return false;
    const { last } = await stream.insist(() => stream.info(), () => !this.#hasEnded);
    if (mark === stream.mark && sequence <= last) return true;
    this.#after = mark === stream.mark ? last : 0;
    this.#push(replaced(stream, id));
    return false;
  }

  #push(arrival: BusEvent | UnreadableEventError): void {
    this.#ahead.push(arrival);
    this.#aheadBytes += bytesOf(arrival);
  }

  #goLive(feed: Feed): void {
    this.#position = feed.recent.positionAfter(this.#after);
    this.wake();
  }

  #fallBehind(feed: Feed): void {
    this.#position = undefined;
    if (this.#source !== undefined) this.#catchUp(this.#source.stream, feed, true);
  }

  /** Reads from the stream until what follows is in memory. */
  async #catchUp(stream: Stream, feed: Feed, tellsRemoved: boolean): Promise<void> {
    const past = new Past(stream, stream.subjectsOf(this.#filters), { after: this.#after, tellsRemoved });
    this.#past = past;
    try {
      for (;;) {
        // All that has come by the feed is in the stream before that is asked.
        const reached = feed.place.sequence;
        const { arrivals, last, isLast } = await past.read();
        if (this.#hasEnded) return;
        for (const arrival of arrivals) {
          if (arrival instanceof Error || this.#matches(arrival.topic)) this.#push(arrival);
        }
        this.#after = isLast ? Math.max(last, reached) : last;
        if (isLast && this.#after >= feed.recent.base) break;
        this.wake();
        if (this.#aheadBytes > MAX_AHEAD_BYTES) await new Promise<void>((resolve) => this.#room = resolve);
        this.#room = undefined;
        if (this.#hasEnded) return;
      }
      this.#goLive(feed);
    } catch (error) {
      if (!this.#hasEnded) this.fail(error);
    } finally {
      past.close();
      this.#past = undefined;
    }
  }
}

function bytesOf(arrival: BusEvent | UnreadableEventError): number {
  return (arrival instanceof Error ? 0 : arrival.payload.length) + EVENT_BYTES;
}

function newest(place: FeedPlace, published: FeedPlace | undefined): FeedPlace {
  return published !== undefined && published.sequence >= place.sequence ? published : place;
}

function positionAt({ sequence, time }: FeedPlace, stream: Stream): Position {
  return { after: sequence === 0 ? undefined : { id: idOf(sequence, stream.mark), time }, seen: [] };
}
