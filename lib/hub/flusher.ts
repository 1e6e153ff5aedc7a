/**
 * When what waits for connections is handed to their sockets.
 *
 * A frame costs what the kernel takes for it, many times what it costs us. Frames that leave one socket in a row cost less than
 * the same in turn with others', and a frame that holds many events hardly more than one. So what comes in one go is gathered:
 * after a flush of several events, as many are waited for again, as long as they keep coming; after a flush of one, none. Then
 * it is handed over in slices, since what a socket is handed leaves only when the event loop gets its turn.
 *
 * A socket that has been handed enough is looked at until it has sent some of it: that is all that a `WebSocket` tells.
 *
 * @module
 */
import type { Timer } from "../time.ts";
import type { Connection } from "./connection.ts";
import type { Turns } from "./turns.ts";

/** How long events are gathered without any that comes, as a part of what the last flush took. */
const PATIENCE = 1 / 4;

/** How many frames are handed over in a turn of the event loop, about. */
const SLICE_FRAMES = 256;

/** Who has taken nothing for so long, in milliseconds, is not waited for. */
const PROGRESS_MS = 500;

/** How soon a socket without room is looked at again, in milliseconds: soon after it has made progress, else ever later. */
const SOONEST_LOOK_MS = 1;
const LATEST_LOOK_MS = 50;

/** Flushes the connections of a hub. */
export class Flusher {
  readonly #turns: Turns;
  readonly #distribute: () => void;
  readonly #stallMs: number;
  readonly #stalled: (connection: Connection) => void;
  #waiting: Connection[] = [];
  /** Those of them that are being flushed, and how far that has come. */
  #flushing: readonly Connection[] = [];
  #flushed = 0;
  #isAwaitingTurn = false;
  /** How many events wait, and how many did in the last turn; when one came, and when the first of them did. */
  #events = 0;
  #eventsBefore = 0;
  #lastNews = 0;
  #since = 0;
  /** When the last flush began, how many events it held, and how long it took, in milliseconds. */
  #began = 0;
  #flushes = 0;
  #lastEvents = 0;
  #lastCost = 0;
  /** Those whose socket has no room, and when it last sent something. */
  readonly #blocked = new Map<Connection, { sentBytes: number; since: number }>();
  #lookTimer: Timer | undefined;
  #lookAfter = SOONEST_LOOK_MS;
  #closed = false;

  /**
   * @param turns when to go on
   * @param distribute gives what has been gathered to the connections
   * @param stallMs how long a socket may take nothing, in milliseconds
   * @param stalled is told of one that has taken nothing for so long
   */
  constructor(turns: Turns, distribute: () => void, stallMs: number, stalled: (connection: Connection) => void) {
    this.#turns = turns;
    this.#distribute = distribute;
    this.#stallMs = stallMs;
    this.#stalled = stalled;
  }

  /** An event is about to be added to connections. */
  gather(): void {
    this.#events++;
    this.#awaitTurn();
  }

  /** Something waits for a connection, which is flushed soon. */
  add(connection: Connection): void {
    if (connection.isToFlush) return;
    connection.isToFlush = true;
    this.#waiting.push(connection);
    this.#awaitTurn();
  }

  #awaitTurn(): void {
    if (this.#isAwaitingTurn) return;
    this.#isAwaitingTurn = true;
    this.#since = this.#lastNews = performance.now();
    this.#turns.next(this.#turn);
  }

  /** How often everything that waited has been handed over. */
  get flushes(): number {
    return this.#flushes;
  }

  /** Enough has been gathered: what waits is flushed from the next turn on. */
  hasten(): void {
    this.#lastEvents = 0;
  }

  /** Whether something waits that has not been handed over as far as there is room. */
  get isFlushing(): boolean {
    return !this.#closed && this.#hasWork;
  }

  get #hasWork(): boolean {
    return this.#flushing.length > 0 || this.#events > 0 || this.#waiting.length > 0;
  }

  /** Flushes now, without waiting for more. */
  flush(): void {
    while (this.#hasWork) this.#flushSlice(Infinity);
    this.#began = 0;
  }

  /**
   * How many are behind and make progress.
   *
   * @param bytes so much must wait for them
   */
  countBehind(bytes: number): number {
    const recently = performance.now() - PROGRESS_MS;
    let count = 0;
    for (const [connection, { since }] of this.#blocked) {
      if (connection.queuedBytes > bytes && since > recently) count++;
    }
    return count;
  }

  /** Forgets a connection. */
  delete(connection: Connection): void {
    this.#blocked.delete(connection);
  }

  /** Stops. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#lookTimer);
    this.#blocked.clear();
  }

  /** Bound once: it is called in nearly every turn. */
  readonly #turn = () => {
    if (this.#closed) return;
    const now = performance.now();
    if (this.#flushing.length === 0 && this.#began > 0) {
      this.#lastCost = now - this.#began;
      this.#began = 0;
      this.#since = this.#lastNews = now;
    }
    if (this.#flushing.length > 0 || (this.#hasWork && this.#hasGathered(now))) this.#flushSlice(SLICE_FRAMES);
    this.#isAwaitingTurn = this.#hasWork || this.#began > 0;
    if (this.#isAwaitingTurn) this.#turns.next(this.#turn);
  };

  #hasGathered(now: number): boolean {
    if (this.#events !== this.#eventsBefore) this.#lastNews = now;
    this.#eventsBefore = this.#events;
    return this.#lastEvents <= 1 || this.#events >= this.#lastEvents ||
      now - this.#lastNews > this.#lastCost * PATIENCE ||
      now - this.#since > this.#lastCost;
  }

  #flushSlice(frames: number): void {
    if (this.#flushing.length === 0) {
      this.#distribute();
      this.#flushing = this.#waiting;
      this.#waiting = [];
      this.#flushed = 0;
      this.#lastEvents = this.#events;
      this.#events = this.#eventsBefore = 0;
      this.#began = performance.now();
    }
    for (let handed = 0; this.#flushed < this.#flushing.length && handed < frames; this.#flushed++) {
      const connection = this.#flushing[this.#flushed];
      connection.isToFlush = false;
      handed += connection.queuedFrames;
      if (!connection.flush()) this.#block(connection, performance.now());
    }
    if (this.#flushed < this.#flushing.length) return;
    this.#flushing = [];
    this.#flushes++;
  }

  #block(connection: Connection, now: number): void {
    if (this.#blocked.has(connection)) return;
    this.#blocked.set(connection, { sentBytes: connection.sentBytes, since: now });
    this.#lookAfter = SOONEST_LOOK_MS;
    this.#lookLater();
  }

  #lookLater(): void {
    this.#lookTimer ??= setTimeout(() => {
      this.#lookTimer = undefined;
      this.look();
    }, this.#lookAfter);
  }

  /** Looks at those without room now. */
  look(): void {
    const now = performance.now();
    this.#lookAfter = Math.min(LATEST_LOOK_MS, this.#lookAfter * 2);
    for (const [connection, state] of this.#blocked) {
      if (connection.flush()) {
        this.#blocked.delete(connection);
        this.#lookAfter = SOONEST_LOOK_MS;
      } else if (connection.sentBytes !== state.sentBytes) {
        state.sentBytes = connection.sentBytes;
        state.since = now;
        this.#lookAfter = SOONEST_LOOK_MS;
      } else if (now - state.since > this.#stallMs) {
        this.#stalled(connection);
      }
    }
    if (this.#blocked.size > 0) this.#lookLater();
  }
}
