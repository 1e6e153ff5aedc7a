/**
 * What Ollie is built on: everything that carries events is a {@linkcode Bus}, and everything that shows events to the world
 * takes one.
 *
 * @module
 */
import type { BusEvent } from "./event.ts";

/** Where events are published. Disposing of it lets go of what it holds; what has been published stays. */
export interface Publisher extends AsyncDisposable {
  /**
   * Publishes one event. When the promise resolves, the event is on the bus, whole.
   *
   * @param topic what it is about
   * @param payload its content; a string is written as UTF-8
   * @returns what the carrier gave it
   * @throws {TopicError} if the topic breaks a rule
   * @throws {BusError} if the carrier could not take it; then nobody sees any of it
   */
  publish(topic: string, payload: Uint8Array | string, options?: PublishOptions): Promise<Published>;
}

/** Where events are published and subscribed to. Disposing of it ends its subscriptions. */
export interface Bus extends Publisher {
  /**
   * Subscribes to the events that match any of the filters; each is delivered once, however many of them match.
   *
   * @param filter one filter or several, such as `session.*.state`
   * @throws {FilterError} if one of them is not a filter
   */
  subscribe(filter: string | readonly string[], options?: SubscribeOptions): Subscription;

  /**
   * What tells this bus from every other, whichever address it is reached by: 32 hexadecimal digits. A carrier remembers them, so that
   * they can be asked for often; those of a bus that is elsewhere may have changed when the connection to it has been made anew.
   *
   * @throws {BusError} if the carrier cannot tell
   */
  identity(): Promise<string>;
}

/** How an event is published. */
export interface PublishOptions {
  /**
   * Whether to wait until the event would survive a power cut, where the carrier keeps events on a disk of this machine. For a
   * directory, that takes the permission to read the one that it is in, too.
   */
  readonly sync?: boolean;
  /** The event's {@linkcode BusEvent.via}: 64 identities at most. */
  readonly via?: readonly string[];
  /**
   * What the event is known by wherever it is published once more: a carrier that finds out by itself that it has an event already does
   * so by this. A JetStream stream does, for as long as it remembers, and says itself when the event was published; others publish it
   * again.
   */
  readonly deduplicationId?: string;
}

/** What a carrier gave to an event that was published. */
export interface Published {
  /** The event's {@linkcode BusEvent.id}. */
  readonly id: string;
  /** The event's {@linkcode BusEvent.time}. */
  readonly time: string;
}

/** Where a subscription begins, and what ends it. */
export interface SubscribeOptions {
  /**
   * `"now"`, the default: what is published from when {@linkcode Subscription.ready} resolves, or a moment sooner. `"start"`:
   * all that the carrier keeps, then what follows. `{ after }`: all that comes after the event with that id. A
   * {@linkcode Position}: all that was not done with there. `{ last }`: the last so many of those that match, then what follows.
   *
   * Whoever comes back to an event or a position is told, by a {@linkcode GapError}, if what came after it has been removed since.
   */
  readonly from?: "now" | "start" | { readonly after: string } | Position | { readonly last: number };
  /**
   * Asks for the {@linkcode Position} that `ready` resolves to, where `from` is `"now"`: how far back, in milliseconds, it is to
   * name one by one the events that were there before.
   */
  readonly window?: number;
  /** Ends the subscription when it is aborted: those who wait for an event are told that there are no more. */
  readonly signal?: AbortSignal;
}

/** What tells an event from others, and when it was published. */
export type EventMark = Pick<BusEvent, "id" | "time">;

/** A place in the order of events, which is more than one id: an event may arrive late, with a time before that of others. */
export interface Position {
  /** All up to this event is done with; `undefined` stands for the place before the first event that there ever was. */
  readonly after: EventMark | undefined;
  /** What comes after that and is done with, too. */
  readonly seen: readonly EventMark[];
  /** What has been removed up to this event is known to be gone, and no {@linkcode GapError} tells of it again. */
  readonly gone?: EventMark;
}

/**
 * Events as they come, to be read with `for await` or by calling `next()`. Leaving the loop, disposing of it and aborting its
 * signal all end it. Several calls of `next()` may wait at once; they are answered in the order in which they came.
 */
export interface Subscription extends AsyncIterableIterator<BusEvent, undefined>, AsyncDisposable {
  /**
   * Resolves once no event that is published from then on can be missed: to the place where the subscription begins, for those
   * who want to come back to it later, or to `undefined` where the carrier keeps nothing, or was not asked. Rejects, as
   * `next()` then does, if the subscription could not begin.
   */
  readonly ready: Promise<Position | undefined>;

  /**
   * Whether somebody waits in `next()`, and all that there is for it has been given. Where two subscriptions of one bus are caught
   * up at the same moment, both have given the same events, as far as their filters match the same. Always `undefined` where
   * the carrier is elsewhere, so that it cannot be known.
   */
  readonly caughtUp: boolean | undefined;

  /**
   * The next event; `done` once the subscription has ended. Rejects with an {@linkcode UnreadableEventError} or a
   * {@linkcode GapError} in the place of what it cannot give, and goes on after that; with another {@linkcode BusError} if it broke.
   */
  next(): Promise<IteratorResult<BusEvent, undefined>>;

  /** Ends the subscription. */
  return(): Promise<IteratorResult<BusEvent, undefined>>;

  /** Itself. */
  [Symbol.asyncIterator](): Subscription;
}

/** A carrier failed, or was asked for what it cannot do. The message is a sentence for a person; `cause` has the rest. */
export class BusError extends Error {
  /** `"BusError"`. */
  override name = "BusError";
}

/** A bus does not take an event, and would not if it were published again: it is too long, say. */
export class RefusedEventError extends BusError {
  /** `"RefusedEventError"`. */
  override name = "RefusedEventError";
}

/** One event is there but could not be read. The subscription has passed it by: another `next()` gives the one after it. */
export class UnreadableEventError extends BusError {
  /** `"UnreadableEventError"`. */
  override name = "UnreadableEventError";
}

/**
 * Events that a subscriber was to have are gone: they were removed before it had read them. That is told in their place, after what
 * comes before them. The subscription has passed them by: another `next()` gives the one after them.
 */
export class GapError extends BusError {
  /** `"GapError"`. */
  override name = "GapError";
  /** The id of the event after which they were to come, if the subscriber had any. */
  readonly after: string | undefined;
  /** The last of them that is known. */
  readonly until: EventMark;

  /**
   * Tells of a gap.
   *
   * @param where what the message begins with: the bus that it is in
   * @param gap the event after which they were to come, and the last of them
   */
  constructor(where: string, { after, until }: { readonly after: string | undefined; readonly until: EventMark }) {
    const since = after === undefined ? "" : ` after ${JSON.stringify(after)} and`;
    super(`${where}: events${since} up to ${JSON.stringify(until.id)} were removed before they were read`);
    this.after = after;
    this.until = until;
  }
}

/** A subscriber was slower than a carrier that keeps nothing could wait for: events after the last one it got are lost to it. */
export class SlowConsumerError extends BusError {
  /** `"SlowConsumerError"`. */
  override name = "SlowConsumerError";
}
