/**
 * When what waits for connections is handed to their sockets.
 *
 * What goes to one socket in a row costs less than the same to many in turn, and in a frame that holds many events it costs hardly
 * more than one. So what comes in one go is gathered: until a turn of the event loop brings nothing new, or enough has come. Then
 * it is handed over in slices, since what a socket is handed leaves only when the event loop gets its turn.
 *
 * A socket that has been handed enough is looked at until it has sent some of it: that is all that a `WebSocket` tells.
 *
 * @module
 */
import type { Timer } from "../time.ts";
import type { Connection } from "./connection.ts";
import type { Turns } from "./turns.ts";

/** How long events are gathered at most, in milliseconds. */
const GATHER_MS = 2;

/** How many frames are handed over in a turn of the event loop, about. */
const SLICE_FRAMES = 128;

/** Who has taken nothing for so long, in milliseconds, is not waited for. */
const PROGRESS_MS = 500;

/** How soon a socket without room is looked at again, in milliseconds: soon after it has made progress, else ever later. */
const SOONEST_LOOK_MS = 1;
const LATEST_LOOK_MS = 50;

/** Flushes the connections of a hub. */
export class Flusher {
  readonly #turns: Turns;
  readonly #stallMs: number;
  readonly #stalled: (connection: Connection) => void;
  #waiting: Connection[] = [];
  /** Those of them that are being flushed, and how far that has come. */
  #flushing: readonly Connection[] = [];
  #flushed = 0;
  /** Whether a turn is waited for, and since when events are gathered. */
  #isGathering = false;
  #since = 0;
  #hasNews = false;
  /** Those whose socket has no room, and when it last sent something. */
  readonly #blocked = new Map<Connection, { sentBytes: number; since: number }>();
  #lookTimer: Timer | undefined;
  #lookAfter = SOONEST_LOOK_MS;
  #closed = false;

  /**
   * @param turns when to go on
   * @param stallMs how long a socket may take nothing, in milliseconds
   * @param stalled is told of one that has taken nothing for so long
   */
  constructor(turns: Turns, stallMs: number, stalled: (connection: Connection) => void) {
    this.#turns = turns;
    this.#stallMs = stallMs;
    this.#stalled = stalled;
  }

  /** Something waits for a connection, which is flushed soon. */
  add(connection: Connection): void {
    this.#hasNews = true;
    if (connection.isToFlush) return;
    connection.isToFlush = true;
    this.#waiting.push(connection);
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#since = performance.now();
    this.#turns.next(this.#turn);
  }

  /** Flushes now, without waiting for more. */
  flush(): void {
    while (this.#flushing.length > 0 || this.#waiting.length > 0) this.#flushSlice(Infinity);
  }

  /**
   * Whether somebody is behind who makes progress.
   *
   * @param bytes so much must wait for them
   */
  isAnyBehind(bytes: number): boolean {
    for (const [connection, { since }] of this.#blocked) {
      if (connection.queuedBytes > bytes && performance.now() - since < PROGRESS_MS) return true;
    }
    return false;
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
    const gathersOn = this.#flushing.length === 0 && this.#hasNews && performance.now() - this.#since < GATHER_MS;
    this.#hasNews = false;
    if (!gathersOn) this.#flushSlice(SLICE_FRAMES);
    if (this.#flushing.length > 0 || this.#waiting.length > 0) this.#turns.next(this.#turn);
    else this.#isGathering = false;
  };

  #flushSlice(frames: number): void {
    if (this.#flushing.length === 0) {
      this.#flushing = this.#waiting;
      this.#waiting = [];
      this.#flushed = 0;
    }
    for (let handed = 0; this.#flushed < this.#flushing.length && handed < frames; this.#flushed++) {
      const connection = this.#flushing[this.#flushed];
      connection.isToFlush = false;
      handed += connection.queuedFrames;
      if (!connection.flush()) this.#block(connection, performance.now());
    }
    if (this.#flushed < this.#flushing.length) return;
    this.#flushing = [];
    // What has come meanwhile is gathered anew.
    this.#since = performance.now();
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
