/**
 * Who may do what at a hub: a name, and the filters for what may be published and subscribed to.
 *
 * @module
 */
import { compileFilters, filterCovers, filterList } from "../filter.ts";

/** What {@linkcode Access} is made of. */
export interface AccessOptions {
  /** Whose it is. Only they can subscribe to `direct:NAME`. */
  readonly name?: string;
  /** What may be published; everything if not given. */
  readonly publish?: readonly string[];
  /** What may be subscribed to; everything if not given. */
  readonly subscribe?: readonly string[];
}

/** A topic, or a filter, that is about one person alone. */
const DIRECT = /^direct:([^.]+)/;

/**
 * What somebody may do.
 *
 * @example
 * ```ts
 * import { Access } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * const alice = new Access({ name: "alice", subscribe: ["session.>"] });
 * assert(alice.maySubscribe("session.*.state"));
 * assert(alice.maySubscribe("direct:alice"));
 * assert(!alice.maySubscribe("direct:bob"));
 * ```
 */
export class Access {
  /** Whose it is, if that is known. */
  readonly name: string | undefined;
  readonly #mayPublish: (topic: string) => boolean;
  readonly #subscribe: readonly string[];

  /**
   * Says what somebody may do.
   *
   * @param options who, and what
   * @throws {FilterError} if one of the filters is not one
   */
  constructor({ name, publish = [">"], subscribe = [">"] }: AccessOptions) {
    this.name = name;
    this.#mayPublish = compileFilters(publish);
    this.#subscribe = filterList(subscribe);
  }

  /** Whether an event may be published. */
  mayPublish(topic: string): boolean {
    return this.#mayPublish(topic);
  }

  /** Whether a filter may be subscribed to: one of those that are allowed must cover all of it. */
  maySubscribe(filter: string): boolean {
    const [, name = "*"] = DIRECT.exec(filter) ?? [];
    if (name !== "*") return name === this.name;
    return this.#subscribe.some((allowed) => filterCovers(allowed, filter));
  }

  /** Whether an event may be received that matches a filter which may be subscribed to: `>` matches what is for others, too. */
  mayReceive(topic: string): boolean {
    const [, name] = DIRECT.exec(topic) ?? [];
    return name === undefined || name === this.name;
  }
}
