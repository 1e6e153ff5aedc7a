/**
 * When what waits for connections is handed to their sockets: at once as long as that costs little, so that an event is on its way
 * when it has come; and once for many events when it costs more, since a frame that holds many costs hardly more than one.
 *
 * A socket that has been handed enough is looked at until it has sent some of it: that is all that a `WebSocket` tells.
 *
 * @module
 */
import type { Timer } from "../time.ts";
import type { Connection } from "./connection.ts";

/** How long a flush may have taken, in milliseconds, for the next one not to wait for more events. */
const CHEAP_MS = 1;

/** How soon a socket without room is looked at again, in milliseconds: soon after it has made progress, else ever later. */
const SOONEST_LOOK_MS = 1;
const LATEST_LOOK_MS = 50;

/** Flushes the connections of a hub. */
export class Flusher {
  readonly #stallMs: number;
  readonly #stalled: (connection: Connection) => void;
  #waiting: Connection[] = [];
  #timer: Timer | undefined;
  #lastCost = 0;
  /** Those whose socket has no room, and when it last sent something. */
  readonly #blocked = new Map<Connection, { handed: number; since: number }>();
  #lookTimer: Timer | undefined;
  #lookAfter = SOONEST_LOOK_MS;

  /**
   * @param stallMs how long a socket may take nothing, in milliseconds
   * @param stalled is told of one that has taken nothing for so long
   */
  constructor(stallMs: number, stalled: (connection: Connection) => void) {
    this.#stallMs = stallMs;
    this.#stalled = stalled;
  }

  /** Takes note that something waits for a connection. Then call {@linkcode settle}, or {@linkcode later}. */
  add(connection: Connection): void {
    if (connection.isToFlush) return;
    connection.isToFlush = true;
    this.#waiting.push(connection);
  }

  /** Nothing more is at hand: flushes now if that costs little, else soon. */
  settle(): void {
    if (this.#waiting.length === 0) return;
    if (this.#lastCost < CHEAP_MS) this.flush();
    else this.later();
  }

  /** More may be at hand: flushes soon. */
  later(): void {
    this.#timer ??= setTimeout(() => this.flush());
  }

  /** Forgets a connection. */
  delete(connection: Connection): void {
    this.#blocked.delete(connection);
  }

  /** Stops. */
  close(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#lookTimer);
    this.#blocked.clear();
  }

  /** Flushes now, whatever that costs. */
  flush(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
    const connections = this.#waiting;
    this.#waiting = [];
    const began = performance.now();
    for (const connection of connections) {
      connection.isToFlush = false;
      if (!connection.flush()) this.#block(connection, began);
    }
    this.#lastCost = performance.now() - began;
  }

  #block(connection: Connection, now: number): void {
    if (this.#blocked.has(connection)) return;
    this.#blocked.set(connection, { handed: connection.handed, since: now });
    this.#lookAfter = SOONEST_LOOK_MS;
    this.#lookLater();
  }

  #lookLater(): void {
    this.#lookTimer ??= setTimeout(() => {
      this.#lookTimer = undefined;
      this.#look();
    }, this.#lookAfter);
  }

  #look(): void {
    const now = performance.now();
    this.#lookAfter = Math.min(LATEST_LOOK_MS, this.#lookAfter * 2);
    for (const [connection, state] of this.#blocked) {
      if (connection.flush()) {
        this.#blocked.delete(connection);
        this.#lookAfter = SOONEST_LOOK_MS;
      } else if (connection.handed !== state.handed) {
        state.handed = connection.handed;
        state.since = now;
        this.#lookAfter = SOONEST_LOOK_MS;
      } else if (now - state.since > this.#stallMs) {
        this.#stalled(connection);
      }
    }
    if (this.#blocked.size > 0) this.#lookLater();
  }
}
