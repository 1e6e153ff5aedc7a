/**
 * What the address of a NATS bus does not say. It is apart from what it is said to, so that whoever only names it loads nothing.
 *
 * @module
 */

/** What the address of a NATS bus does not say; for other buses it means nothing. */
export interface NatsOptions {
  /** What a credentials file holds: the text that `nsc generate creds` writes. */
  readonly credentials?: string;
  /** The JetStream stream that keeps the events. Without one, only what is published from now on can be had. */
  readonly stream?: string;
  /** Whether that stream is made if there is none: one that keeps all it gets, in files, until somebody says otherwise. */
  readonly createStream?: boolean;
  /**
   * How many bytes may wait: for NATS, of what is published; and where there is no stream, for each subscriber. 16 MiB if not given.
   */
  readonly maxQueueBytes?: number;
}
