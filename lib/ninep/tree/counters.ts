/**
 * What `stats` tells of the events that have passed.
 *
 * @module
 */

/** Counts, from when the tree was made. */
export interface Counters {
  /** The subscriptions that there are now. */
  subscriptions: number;
  /** The events that were published by writing. */
  published: number;
  /** The events that were read, each as often as it was. */
  delivered: number;
  /** The bytes of lines that have no newline yet. */
  begunBytes: number;
}
