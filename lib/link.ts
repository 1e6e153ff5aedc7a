/**
 * Copying events from one bus to another, at least once.
 *
 * Links may form a circle. An event carries the identities of the buses that it has been on (its `via`), to which each link adds that
 * of its source; and no link brings an event to a bus that it has been on. So each event is once on each bus, and comes to rest.
 *
 * @module
 */
import {
  type Bus,
  BusError,
  type EventMark,
  GapError,
  type Position,
  RefusedEventError,
  type Subscription,
  UnreadableEventError,
} from "./bus.ts";
import { type BusEvent, wordOfTopic } from "./event.ts";
import { MAX_HOPS } from "./identity.ts";
import { Transfers } from "./link/transfers.ts";
import { waitAtMost } from "./waiting.ts";

/** One of the two buses that a link is between. */
export interface LinkEnd {
  /** The bus. */
  readonly bus: Bus;
  /** What it is called in messages. */
  readonly name: string;
}

/** Remembers how far a link has come. */
export interface LinkProgress {
  /** Where it is; `undefined` if it has not begun. */
  readonly position: Position | undefined;
  /** It begins. */
  create(position: Position): void;
  /** An event is on the target, or is not to be, as all are that came before it. */
  record(mark: EventMark): void;
  /** Events up to this one are gone. */
  recordGone(mark: EventMark): void;
}

/** What is copied, and who is told of it. */
export interface LinkOptions {
  /** Which events are. */
  readonly filters: readonly string[];
  /** Remembers how far it has come, and so has it begin there, or with the past. Without it, it begins now. */
  readonly progress: LinkProgress | undefined;
  /** Ends it, when what is under way has arrived, or after some seconds. */
  readonly signal: AbortSignal;
  /** Is called once nothing can be missed. */
  readonly begun: () => void;
  /** Takes what somebody should know, as sentences. */
  readonly log: (message: string) => void;
}

/** How long what is under way may take to arrive when a link is to end, in milliseconds. */
const END_MS = 5000;

/** For how long it may copy before others have their turn, in milliseconds. */
const TURN_MS = 20;

/** How long to wait before a source that has failed is tried again, in milliseconds, at first and at most. */
const RETRY_MS = 100;
const MAX_RETRY_MS = 5000;

/**
 * Copies events until it is told to end.
 *
 * @param source where they come from
 * @param target where they go
 * @param options which of them, and who is told
 * @throws {BusError} if both are the same bus, or one of them cannot be used at first
 */
export async function link(source: LinkEnd, target: LinkEnd, options: LinkOptions): Promise<void> {
  if (await source.bus.identity() === await target.bus.identity()) {
    throw new BusError(`${source.name} and ${target.name} are the same bus: a link is from one bus to another`);
  }
  const { signal, log } = options;
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => {});
  const transfers = new Transfers({
    target: target.name,
    publish: (event) => copy(event, source, target),
    log,
    signal,
    failed: reject,
  });
  try {
    await Promise.race([failed, follow(source, transfers, options)]);
    await Promise.race([failed, waitAtMost(END_MS, transfers.settled())]);
  } finally {
    transfers.close();
  }
}

/** Has all that comes from the source transferred. A source that fails is tried again. */
async function follow(source: LinkEnd, transfers: Transfers, options: LinkOptions): Promise<void> {
  const { filters, progress, signal, begun, log } = options;
  const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  let state: "new" | "there" | "away" = "new";
  for (let retryMs = RETRY_MS; !signal.aborted;) {
    const from = progress === undefined ? "now" : progress.position ?? "start";
    const subscription = source.bus.subscribe(filters, { from, signal });
    try {
      const position = await subscription.ready;
      if (signal.aborted) return;
      if (progress !== undefined && progress.position === undefined) progress.create(known(position, source));
      if (state === "new") begun();
      else log(`${source.name} is back`);
      state = "there";
      retryMs = RETRY_MS;
      return await readAll(subscription, transfers, options);
    } catch (error) {
      if (state === "new" || !(error instanceof BusError)) throw error;
      const fate = progress === undefined
        ? "what is published until it is back is not copied"
        : "it is tried again until it works";
      if (state === "there") log(`${error.message}; ${fate}`);
      state = "away";
      // Only then it is known where to go on.
      await Promise.race([aborted, transfers.settled()]);
      await Promise.race([aborted, new Promise((resolve) => setTimeout(resolve, retryMs))]);
      retryMs = Math.min(MAX_RETRY_MS, retryMs * 2);
    } finally {
      await subscription.return();
    }
  }
}

function known(position: Position | undefined, { name }: LinkEnd): Position {
  if (position !== undefined) return position;
  throw new BusError(`${name} does not tell which events there are now, so nobody could come back there`);
}

/** Reads events, and has them transferred, until there are no more. */
async function readAll(
  subscription: Subscription,
  transfers: Transfers,
  { progress, log }: LinkOptions,
): Promise<void> {
  for (let began = performance.now();;) {
    await transfers.room();
    try {
      const { value, done } = await subscription.next();
      if (done) return;
      transfers.add(value, () => progress?.record(value));
    } catch (error) {
      if (!(error instanceof UnreadableEventError || error instanceof GapError)) throw error;
      log(error.message);
      if (error instanceof GapError) transfers.add(undefined, () => progress?.recordGone(error.until));
    }
    if (performance.now() - began < TURN_MS) continue;
    // Where events are at hand and the target is a directory, nothing above ever waits.
    await new Promise((resolve) => setTimeout(resolve));
    began = performance.now();
  }
}

/** Publishes an event on the target, unless it has been there. */
async function copy(event: BusEvent, source: LinkEnd, target: LinkEnd): Promise<void> {
  // Asked each time: what is behind an address may have become another bus.
  const from = await source.bus.identity();
  const to = await target.bus.identity();
  const { id, payload, via = [] } = event;
  // What has come back to the source has been wherever it is to go from there.
  if (to === from || via.includes(to) || via.includes(from)) return;
  if (via.length >= MAX_HOPS) {
    throw new RefusedEventError(`it has been on ${via.length} buses, which is as many as may be`);
  }
  const topic = wordOfTopic(event.topic);
  await target.bus.publish(topic, payload, { via: [...via, from], deduplicationId: `${from}/${id}` });
}
