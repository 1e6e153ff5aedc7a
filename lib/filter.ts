/**
 * Filters: which topics somebody wants to hear of. {@linkcode compileFilter} tests one filter; {@linkcode FilterTree} finds,
 * among any number of filters, those that match a topic, at a cost that grows with the topic's length and the matches.
 *
 * | filter | matches |
 * | --- | --- |
 * | `*` as a segment | exactly one segment |
 * | `>` as the last segment | one or more segments |
 * | `name:*` as a segment | `name:` followed by any non-empty id |
 * | `*` or `>` alone | every topic |
 * | anything else | itself, exactly |
 *
 * @module
 */

/** A filter was refused. The message names the filter and says what would be right. */
export class FilterError extends Error {
  /** `"FilterError"`. */
  override name = "FilterError";
}

/** How long a filter may be: longer than what can match a topic, and short enough for what goes from segment to segment. */
const MAX_FILTER_CHARACTERS = 1000;

/**
 * Refuses what cannot be a filter: an empty segment, or `>` as a segment anywhere but last.
 *
 * @param filter such as `session.*.agent.>`
 * @throws {FilterError} saying what is wrong with it
 *
 * @example
 * ```ts
 * import { checkFilter, FilterError } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * checkFilter("session.*.agent.>");
 * assert.throws(() => checkFilter("session.>.agent"), FilterError);
 * ```
 */
export function checkFilter(filter: string): void {
  segmentsOf(filter);
}

/**
 * One filter or several, as a list of filters that are known to be filters.
 *
 * @throws {FilterError} if one of them is not
 */
export function filterList(filter: string | readonly string[]): readonly string[] {
  const filters = typeof filter === "string" ? [filter] : [...filter];
  filters.forEach(checkFilter);
  return filters;
}

/** The segments of a filter, with `*` alone written as the `>` that it means. */
function segmentsOf(filter: string): string[] {
  if (filter.length > MAX_FILTER_CHARACTERS) {
    throw new FilterError(
      `the filter "${
        filter.slice(0, 20)
      }..." has ${filter.length} characters: ${MAX_FILTER_CHARACTERS} are more than any topic has`,
    );
  }
  if (filter === "*") return [">"];
  const segments = filter.split(".");
  if (filter === "") throw new FilterError(`the filter "" is empty: to match every event, use >`);
  if (segments.includes("")) {
    throw new FilterError(
      `the filter ${JSON.stringify(filter)} has an empty segment: to match any one segment there, use *`,
    );
  }
  if (segments.slice(0, -1).includes(">")) {
    throw new FilterError(
      `the filter ${JSON.stringify(filter)} has > before its end: > stands last; to match any one segment, use *`,
    );
  }
  return segments;
}

/**
 * Whether a filter is a topic: it matches itself, and nothing else.
 *
 * @param filter that is known to be one
 */
export function matchesOnlyItself(filter: string): boolean {
  return !/(^|[.:])\*(\.|$)|(^|\.)>$/.test(filter);
}

/** For `name:*`, the `name:` that a segment must start with and be longer than. */
function prefixOf(segment: string): string | undefined {
  return segment.length > 2 && segment.endsWith(":*") ? segment.slice(0, -1) : undefined;
}

/**
 * Makes a test of a filter.
 *
 * @param filter such as `message.sent:*` or `session.>`
 * @returns whether a topic matches
 * @throws {FilterError} if it is not a filter
 *
 * @example
 * ```ts
 * import { compileFilter } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * const wanted = compileFilter("session.*.state");
 * assert(wanted("session.abc123.state"));
 * assert(!wanted("session.abc123.agent.state"));
 * ```
 */
export function compileFilter(filter: string): (topic: string) => boolean {
  const pattern = segmentsOf(filter);
  if (pattern[0] === ">") return () => true;
  const open = pattern.at(-1) === ">";
  const tests = (open ? pattern.slice(0, -1) : pattern).map(segmentTest);
  return (topic) => {
    const segments = topic.split(".");
    return (open ? segments.length > tests.length : segments.length === tests.length) &&
      tests.every((test, i) => test(segments[i]));
  };
}

/** Of more filters than that, a tree finds out sooner whether one matches. */
const FEW_FILTERS = 8;

/**
 * Makes a test of several filters.
 *
 * @param filters any number
 * @returns whether a topic matches one of them
 * @throws {FilterError} if one of them is not a filter
 */
export function compileFilters(filters: readonly string[]): (topic: string) => boolean {
  if (filters.length <= FEW_FILTERS) {
    const tests = filters.map(compileFilter);
    return (topic) => tests.some((test) => test(topic));
  }
  const tree = new FilterTree<true>();
  for (const filter of filters) tree.add(filter, true);
  return (topic) => tree.match(topic).size > 0;
}

/**
 * Whether a filter matches no topic but those that another matches, too: whoever may see what `wide` matches may be given
 * `narrow`.
 *
 * @param wide such as `session.>`
 * @param narrow such as `session.*.state`
 * @throws {FilterError} if one of them is not a filter
 *
 * @example
 * ```ts
 * import { filterCovers } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * assert(filterCovers("session.>", "session.*.state"));
 * assert(!filterCovers("session.*", "session.>"));
 * ```
 */
export function filterCovers(wide: string, narrow: string): boolean {
  const patterns = segmentsOf(wide);
  const segments = segmentsOf(narrow);
  for (const [at, pattern] of patterns.entries()) {
    if (at >= segments.length) return false;
    if (pattern === ">") return true;
    const segment = segments[at];
    if (segment === ">") return false;
    // For the test, `*` and `name:*` are names as any other, and what matches them matches all that they do.
    if (segment !== pattern && !segmentTest(pattern)(segment)) return false;
  }
  return patterns.length === segments.length;
}

function segmentTest(pattern: string): (segment: string) => boolean {
  if (pattern === "*") return () => true;
  const prefix = prefixOf(pattern);
  if (prefix === undefined) return (segment) => segment === pattern;
  return (segment) => segment.length > prefix.length && segment.startsWith(prefix);
}

/** A place in the tree: the filters that share the segments which lead to it. Most have one way on, so all is optional. */
interface Node<Value> {
  /** By the segment that must come next. */
  exact?: Map<string, Node<Value>>;
  /** By the `name:` that the next segment must start with. */
  prefixed?: Map<string, Node<Value>>;
  /** Whatever the next segment is. */
  any?: Node<Value>;
  /** What is held under a filter that ends here. */
  here?: Set<Value>;
  /** What is held under a filter that goes on from here with `>`. */
  beyond?: Set<Value>;
}

/**
 * Values, each held under any number of filters, found by the topics that the filters match: a trie over segments.
 *
 * @typeParam Value what a filter stands for, such as a connection; compared as a `Set` compares
 *
 * @example
 * ```ts
 * import { FilterTree } from "@ollie/ollie";
 * import assert from "node:assert/strict";
 *
 * const tree = new FilterTree<string>();
 * tree.add("session.*.state", "screen");
 * tree.add("session.>", "log");
 * assert.deepEqual(tree.match("session.abc123.state"), new Set(["screen", "log"]));
 * assert.deepEqual(tree.match("session.abc123"), new Set(["log"]));
 * ```
 */
export class FilterTree<Value> {
  #root: Node<Value> = {};
  #size = 0;

  /** How many pairs of a filter and a value are held. */
  get size(): number {
    return this.#size;
  }

  /**
   * Holds a value under a filter. A value that is held there already stays, once.
   *
   * @throws {FilterError} if it is not a filter
   */
  add(filter: string, value: Value): void {
    const segments = segmentsOf(filter);
    const open = segments.at(-1) === ">";
    let node = this.#root;
    for (const segment of open ? segments.slice(0, -1) : segments) node = childOf(node, segment);
    const held = open ? node.beyond ??= new Set() : node.here ??= new Set();
    if (!held.has(value)) this.#size++;
    held.add(value);
  }

  /**
   * Lets go of a value under a filter; under other filters it stays.
   *
   * @returns whether it was held there
   * @throws {FilterError} if it is not a filter
   */
  delete(filter: string, value: Value): boolean {
    const held = remove(this.#root, segmentsOf(filter), 0, value);
    if (held) this.#size--;
    return held;
  }

  /**
   * Finds what is held under the filters that match a topic.
   *
   * @param topic any string
   * @returns each value once, however many of its filters match; the set is the caller's own
   */
  match(topic: string): Set<Value> {
    const found = new Set<Value>();
    collect(this.#root, topic.split("."), 0, found);
    return found;
  }
}

function childOf<Value>(node: Node<Value>, segment: string): Node<Value> {
  if (segment === "*") return node.any ??= {};
  const prefix = prefixOf(segment);
  const [children, key] = prefix === undefined
    ? [node.exact ??= new Map<string, Node<Value>>(), segment]
    : [node.prefixed ??= new Map<string, Node<Value>>(), prefix];
  let child = children.get(key);
  if (child === undefined) children.set(key, child = {});
  return child;
}

function collect<Value>(node: Node<Value>, segments: string[], depth: number, found: Set<Value>): void {
  if (depth === segments.length) {
    node.here?.forEach((value) => found.add(value));
    return;
  }
  node.beyond?.forEach((value) => found.add(value));
  const segment = segments[depth];
  const exact = node.exact?.get(segment);
  if (exact !== undefined) collect(exact, segments, depth + 1, found);
  if (node.any !== undefined) collect(node.any, segments, depth + 1, found);
  if (node.prefixed === undefined) return;
  // A name may itself hold colons, so each colon that an id follows ends a possible one.
  for (
    let colon = segment.indexOf(":");
    colon >= 0 && colon + 1 < segment.length;
    colon = segment.indexOf(":", colon + 1)
  ) {
    const prefixed = node.prefixed.get(segment.slice(0, colon + 1));
    if (prefixed !== undefined) collect(prefixed, segments, depth + 1, found);
  }
}

/** Removes from below `node`, and on the way back up whatever has become empty, so that the tree never outgrows its filters. */
function remove<Value>(node: Node<Value>, segments: string[], depth: number, value: Value): boolean {
  const last = depth === segments.length;
  if (last || segments[depth] === ">") {
    const key = last ? "here" : "beyond";
    const held = node[key]?.delete(value) ?? false;
    if (node[key]?.size === 0) delete node[key];
    return held;
  }
  const segment = segments[depth];
  if (segment === "*") {
    const held = node.any !== undefined && remove(node.any, segments, depth + 1, value);
    if (node.any !== undefined && isEmpty(node.any)) delete node.any;
    return held;
  }
  const prefix = prefixOf(segment);
  const key = prefix === undefined ? "exact" : "prefixed";
  const name = prefix ?? segment;
  const child = node[key]?.get(name);
  if (child === undefined) return false;
  const held = remove(child, segments, depth + 1, value);
  if (isEmpty(child)) node[key]?.delete(name);
  if (node[key]?.size === 0) delete node[key];
  return held;
}

function isEmpty(node: Node<unknown>): boolean {
  return Object.keys(node).length === 0;
}
