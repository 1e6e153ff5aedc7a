/**
 * A subscription to a stream: a position in it. Who keeps up reads what the bus's feed has in memory; who does not, or asks for the
 * past, reads from the stream until there is no more to catch up with. A slow reader has a batch or two in memory, and loses nothing.
 *
 * @module
 */
import type { GapError, Position, SubscribeOptions } from "../../bus.ts";
import type { BusEvent } from "../../event.ts";
import { compileFilters } from "../../filter.ts";
import { Queue } from "../../queue.ts";
import { placeOf } from "../place.ts";
import { EVENT_BYTES, PulledSubscription } from "../subscription.ts";
import type { Feed, FeedPlace, FeedReader } from "./feed.ts";
import { removed, replaced } from "./gap.ts";
import { placeOfLast } from "./last.ts";
import { idOf, marksOf, parseId } from "./mark.ts";
import { Past } from "./past.ts";
import type { Stream, StreamState } from "./stream.ts";

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
  readonly #ahead = new Queue<BusEvent | GapError>();
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
      const place = placeOf(from);
      let position = place;
      if (place !== undefined) {
        await this.#returnTo(place, source.stream, feed);
      } else if (typeof from === "object" && "last" in from) {
        this.#after = from.last === 0 ? feed.place.sequence : await this.#placeOfLast(source.stream, from.last);
      } else {
        // What has been removed before the first that there is, nobody was to have.
        const { first, firstTime } = await this.#info(source.stream);
        this.#after = first - 1;
        position = positionAt({ sequence: this.#after, time: firstTime }, source.stream);
      }
      if (this.#after >= feed.recent.base) this.#goLive(feed);
      else this.#catchUp(source.stream, feed);
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

  /**
   * Finds the place where somebody has been. Events come in one order for everybody, so that whoever has had one of them has had all
   * that come before it.
   */
  async #returnTo(place: Position, stream: Stream, feed: Feed): Promise<void> {
    const marks = marksOf(place);
    const sequences = marks.map(({ id }) => parseId(id)).filter((id) => id.stream === stream.mark)
      .map(({ sequence }) => sequence);
    const sequence = Math.max(0, ...sequences);
    this.#after = sequence;
    const isOurs = marks.length === 0 || sequences.length > 0;
    if (isOurs && sequence >= feed.recent.base && sequence <= feed.place.sequence) return;
    const state = await this.#info(stream);
    if (isOurs && sequence <= state.last) {
      if (state.first <= sequence + 1) return;
      this.#after = state.first - 1;
      this.#push(removed(stream, { after: sequence, until: this.#after, time: state.firstTime }));
    } else {
      this.#after = isOurs ? state.last : state.first - 1;
      this.#push(replaced(stream, state, marks[0].id));
    }
  }

  #info(stream: Stream): Promise<StreamState> {
    return stream.insist(() => stream.info(), () => !this.#hasEnded);
  }

  #placeOfLast(stream: Stream, count: number): Promise<number> {
    return placeOfLast(stream, this.#filters, this.#matches, count, () => !this.#hasEnded);
  }

  #push(arrival: BusEvent | GapError): void {
    this.#ahead.push(arrival);
    this.#aheadBytes += bytesOf(arrival);
  }

  #goLive(feed: Feed): void {
    this.#position = feed.recent.positionAfter(this.#after);
    this.wake();
  }

  #fallBehind(feed: Feed): void {
    this.#position = undefined;
    if (this.#source !== undefined) this.#catchUp(this.#source.stream, feed);
  }

  /** Reads from the stream until what follows is in memory. */
  async #catchUp(stream: Stream, feed: Feed): Promise<void> {
    const past = new Past(stream, stream.subjectsOf(this.#filters), { after: this.#after });
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

function bytesOf(arrival: BusEvent | GapError): number {
  return (arrival instanceof Error ? 0 : arrival.payload.length) + EVENT_BYTES;
}

function newest(place: FeedPlace, published: FeedPlace | undefined): FeedPlace {
  return published !== undefined && published.sequence >= place.sequence ? published : place;
}

function positionAt({ sequence, time }: FeedPlace, stream: Stream): Position {
  return { after: sequence === 0 ? undefined : { id: idOf(sequence, stream.mark), time }, seen: [] };
}
