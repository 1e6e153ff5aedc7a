/**
 * A directory as a bus: events are files, and nothing needs to be running.
 *
 * ```
 * DIR/tmp/      events being written
 * DIR/events/   published events: <time>_<topic>
 * DIR/pruned    what has been removed by `ollie prune`
 * DIR/id        what tells this bus from others
 * DIR/via/      of each event that a link has brought, on which buses it has been before
 * ```
 *
 * The layout and the names are those of the shell pair `inotify-pub` and `inotify-sub`, and what either side publishes the
 * other receives. The directory is the queue: a subscription is a position in it, so that a slow reader costs a position and
 * nothing is dropped. What is held in memory is names, until they have been read; a payload is read when somebody wants it.
 *
 * @module
 */
import {
  type Bus,
  BusError,
  type EventMark,
  type Position,
  type Published,
  type PublishOptions,
  type SubscribeOptions,
  type Subscription,
} from "../bus.ts";
import { filterList, FilterTree } from "../filter.ts";
import { type Clock, formatTime } from "../time.ts";
import { Arrivals } from "./directory/arrivals.ts";
import { EventFiles } from "./directory/event_files.ts";
import { directoryIdentity } from "./directory/identity.ts";
import { ArrivalLog } from "./directory/log.ts";
import { isAfter, parseName, sortNames, topicOf } from "./directory/name.ts";
import { countUpTo, markOf, namesAfter } from "./directory/order.ts";
import { DirectoryPublisher } from "./directory/publish.ts";
import { RemovalsReader } from "./directory/removals_file.ts";
import { DirectorySubscription } from "./directory/subscription.ts";
import { BEFORE_ALL, placeOf } from "./place.ts";

/** How a {@linkcode DirectoryBus} may differ from the usual. */
export interface DirectoryBusOptions {
  /** Tells the time. The system's clock if not given. */
  readonly clock?: Clock;
}

/**
 * A bus in a directory. An event's id is its file's name.
 *
 * Publishing makes what is missing of the directory; so does subscribing. A file whose name holds a topic that breaks the
 * rules is delivered all the same, under the topic that it has.
 *
 * @example
 * ```ts
 * import { DirectoryBus } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * await using bus = new DirectoryBus(Deno.makeTempDirSync());
 * await bus.publish("color", "red");
 * await using colors = bus.subscribe("color", { from: "start" });
 * const { value } = await colors.next();
 * assert.equal(new TextDecoder().decode(value?.payload), "red");
 * ```
 */
export class DirectoryBus implements Bus {
  readonly #path: string;
  readonly #publisher: DirectoryPublisher;
  readonly #files: EventFiles;
  readonly #removals: RemovalsReader;
  readonly #subscriptions = new Set<DirectorySubscription>();
  readonly #matching = new FilterTree<DirectorySubscription>();
  readonly #log = new ArrivalLog();
  #identity: string | undefined;
  #arrivals: Arrivals | undefined;
  #started: Promise<void> = Promise.resolve();
  #stopped: Promise<unknown> = Promise.resolve();

  /**
   * Makes nothing yet: that is left to the first event, or the first subscription.
   *
   * @param path the directory, which need not exist
   * @param options how the bus differs from the usual
   */
  constructor(path: string, options: DirectoryBusOptions = {}) {
    this.#path = path;
    this.#files = new EventFiles(path);
    this.#removals = new RemovalsReader(path);
    this.#publisher = new DirectoryPublisher(path, options.clock);
  }

  /**
   * Publishes one event.
   *
   * @throws {TopicError} if the topic breaks a rule
   * @throws {BusError} if it could not be written; then there is no event, not even a part of it
   */
  async publish(topic: string, payload: Uint8Array | string, options?: PublishOptions): Promise<Published> {
    const published = await this.#publisher.publish(topic, payload, options);
    this.#arrivals?.published(published.id);
    return published;
  }

  /**
   * Subscribes. Past events come in the order of their names, those that arrive later in the order in which they arrive,
   * even one whose time lies before that of one already delivered.
   *
   * @throws {FilterError} if one of the filters is not one
   * @throws {BusError} if `from` names what is not the id of an event in a directory
   */
  subscribe(filter: string | readonly string[], options: SubscribeOptions = {}): Subscription {
    const filters = filterList(filter);
    const place = placeOf(options.from ?? "now");
    checkPlace(place);
    const subscription = new DirectorySubscription({
      bus: this.#path,
      read: (name) => this.#files.read(name),
      log: this.#log,
      filters,
      place,
      signal: options.signal,
      release: () => this.#detach(subscription, filters),
    });
    this.#subscriptions.add(subscription);
    for (const filter of filters) this.#matching.add(filter, subscription);
    if (options.signal?.aborted) subscription.end();
    else this.#begin(subscription, options);
    return subscription;
  }

  /**
   * What the directory keeps in a file of its own, which is made if it is missing.
   *
   * @throws {BusError} if that cannot be done
   */
  // deno-lint-ignore require-await -- so that what it throws is a rejection
  async identity(): Promise<string> {
    return this.#identity ??= directoryIdentity(this.#path);
  }

  /** Ends every subscription. What has been published stays. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const subscription of this.#subscriptions) subscription.end();
    await this.#stopped;
  }

  async #begin(subscription: DirectorySubscription, { from = "now", window }: SubscribeOptions): Promise<void> {
    try {
      const since = this.#log.end;
      const arrivals = this.#follow();
      // Both are asked for before either is awaited, so that the one listing serves for both.
      const listing = from === "now" && window === undefined ? [] : arrivals.list();
      const [, names] = await Promise.all([this.#started, listing]);

      // What arrived since is in the log, from where the subscription goes on after the past.
      const arrived = new Set(this.#log.from(since));
      const isPast = (name: string) => !arrived.has(name);
      if (from === "now") {
        const position = window === undefined
          ? undefined
          : positionAfter(names.filter(isPast), this.#removals.read().last, Date.now() - window);
        return subscription.begin({ past: [], position });
      }
      const all = sorted(names);
      const place = placeOf(from);
      const past = namesAfter(place?.after?.id, all).filter((name) => isPast(name) && subscription.wants(name));
      if (typeof from === "object" && "last" in from) {
        return subscription.begin({ past: past.slice(Math.max(0, past.length - from.last)) });
      }
      // Read only now: what has been removed before it could be listed was told of before.
      const removals = this.#removals.read();
      const missed = place && removals.missedSince(place, (name) => subscription.matches(name), (name) => {
        return arrived.has(name) || all[countUpTo(name, all) - 1] === name;
      });
      const position = place === undefined
        ? { ...BEFORE_ALL, ...goneUpTo(removals.last) }
        : { ...place, after: place.after && markOf(place.after.id) };
      subscription.begin({ past, missed, position });
    } catch (error) {
      subscription.fail(error);
    }
  }

  /** The arrivals, which are followed as long as somebody is subscribed. */
  #follow(): Arrivals {
    if (this.#arrivals !== undefined) return this.#arrivals;
    const arrivals = new Arrivals(this.#path, {
      arrived: (name) => this.#arrived(name),
      failed: (error) => {
        this.#arrivals = undefined;
        for (const subscription of this.#subscriptions) subscription.fail(error);
      },
    });
    this.#arrivals = arrivals;
    this.#started = arrivals.start().catch((error) => {
      if (this.#arrivals === arrivals) this.#arrivals = undefined;
      throw error;
    });
    return arrivals;
  }

  #arrived(name: string): void {
    const matching = this.#matching.match(topicOf(name));
    if (matching.size === 0) return;
    const position = this.#log.push(name);
    for (const subscription of matching) subscription.arrived(position);
    this.#log.trim(this.#subscriptions);
  }

  #detach(subscription: DirectorySubscription, filters: readonly string[]): void {
    this.#subscriptions.delete(subscription);
    for (const filter of filters) this.#matching.delete(filter, subscription);
    if (this.#subscriptions.size > 0) return;
    if (this.#arrivals !== undefined) this.#stopped = Promise.all([this.#stopped, this.#arrivals.stop()]);
    this.#arrivals = undefined;
    this.#log.clear();
  }
}

/** Many who come back at once share a listing, and so the names in their order. */
const sortings = new WeakMap<readonly string[], readonly string[]>();

function sorted(names: readonly string[]): readonly string[] {
  let sorting = sortings.get(names);
  if (sorting === undefined) sortings.set(names, sorting = sortNames([...names]));
  return sorting;
}

/**
 * The place after all of these events and what has been removed; those that were published after a moment, in milliseconds, are
 * named one by one.
 */
function positionAfter(names: readonly string[], gone: string | undefined, moment: number): Position {
  const edge = formatTime(BigInt(Math.max(0, Math.floor(moment))) * 1_000_000n);
  let after: string | undefined;
  const seen: EventMark[] = [];
  for (const name of gone === undefined ? names : [...names, gone]) {
    const mark = markOf(name);
    if (mark.time >= edge) seen.push(mark);
    else if (after === undefined || isAfter(name, after)) after = name;
  }
  return { after: after === undefined ? undefined : markOf(after), seen, ...goneUpTo(gone) };
}

/** That whoever is there knows what has been removed. */
function goneUpTo(name: string | undefined): Pick<Position, "gone"> {
  return name === undefined ? {} : { gone: markOf(name) };
}

/** Refuses a place that is not one in a directory. */
function checkPlace(place: Position | undefined): void {
  if (place === undefined) return;
  const { after, seen, gone } = place;
  for (const mark of [after, gone, ...seen]) {
    if (mark === undefined || parseName(mark.id) !== undefined) continue;
    throw new BusError(
      `${JSON.stringify(mark.id)} is not the id of an event in a directory: ` +
        "such an id looks like 2026-05-08T12:34:56,123456789+00:00_color",
    );
  }
}
