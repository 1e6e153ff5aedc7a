// @ts-check
/**
 * What is known of each topic: how often it comes, how often it came, and when it came last. There may be any number of topics, so
 * only those that came last are known.
 *
 * @module
 */

/** Over how many seconds a rate is taken. */
export const WINDOW = 10;

/**
 * @typedef {object} Topic
 * @property {string} name
 * @property {number} count how many events came
 * @property {number} recent how many of them in the last {@linkcode WINDOW} seconds, the one that is running not among them
 * @property {number} seen when the last was published, in milliseconds since 1970
 */

/** The topics that came last. */
export class Topics {
  /** @type {Map<string, Topic>} the one that came last is the last */
  #topics = new Map();
  /** @type {Map<Topic, number>} what came in the second that is running */
  #running = new Map();
  /** @type {Map<Topic, number>[]} what came in the seconds before, the oldest first */
  #passed = [];
  #now;
  #start;
  #max;
  /** Whether there were more topics than it holds. */
  overflowed = false;

  /**
   * @param {number} max how many topics it holds
   * @param {number} now the present second, since 1970
   */
  constructor(max, now) {
    this.#max = max;
    this.#now = now;
    this.#start = now;
  }

  /** How many topics are known. */
  get size() {
    return this.#topics.size;
  }

  /** Over how many seconds the rates are taken by now. */
  get window() {
    return Math.max(1, Math.min(WINDOW, this.#now - this.#start));
  }

  /**
   * Counts an event.
   *
   * @param {string} name its topic
   * @param {number} seen when it was published, in milliseconds since 1970
   * @param {boolean} live whether it came when it was published, so that it counts for the rate
   */
  add(name, seen, live) {
    let topic = this.#topics.get(name);
    if (topic === undefined) topic = { name, count: 0, recent: 0, seen };
    else this.#topics.delete(name);
    this.#topics.set(name, topic);
    topic.count++;
    topic.seen = Math.max(topic.seen, seen);
    if (live) this.#running.set(topic, (this.#running.get(topic) ?? 0) + 1);
    if (this.#topics.size <= this.#max) return;
    this.overflowed = true;
    for (const oldest of this.#topics.keys()) {
      this.#topics.delete(oldest);
      break;
    }
  }

  /**
   * Notes that time has passed.
   *
   * @param {number} now the present second
   */
  advance(now) {
    for (let passed = Math.min(now - this.#now, WINDOW + 1); passed > 0; passed--) {
      for (const [topic, count] of this.#running) topic.recent += count;
      this.#passed.push(this.#running);
      this.#running = new Map();
      if (this.#passed.length <= WINDOW) continue;
      for (const [topic, count] of this.#passed.shift() ?? []) topic.recent -= count;
    }
    this.#now = Math.max(now, this.#now);
  }

  /**
   * The first few in some order.
   *
   * @param {number} length how many
   * @param {(a: Topic, b: Topic) => number} order as `sort` takes it
   * @returns {Topic[]}
   */
  first(length, order) {
    /** @type {Topic[]} */
    let found = [];
    /** @type {Topic | undefined} the last of those that are known to be enough */
    let last;
    for (const topic of this.#topics.values()) {
      if (last !== undefined && order(topic, last) > 0) continue;
      found.push(topic);
      if (found.length < 4 * length) continue;
      found = found.sort(order).slice(0, length);
      last = found[length - 1];
    }
    return found.sort(order).slice(0, length);
  }
}

/** @type {Record<string, (a: Topic, b: Topic) => number>} the orders in which topics can be shown */
export const ORDERS = {
  rate: (a, b) => b.recent - a.recent || b.seen - a.seen || byName(a, b),
  count: (a, b) => b.count - a.count || byName(a, b),
  seen: (a, b) => b.seen - a.seen || byName(a, b),
  topic: byName,
};

/**
 * @param {Topic} a
 * @param {Topic} b
 */
function byName(a, b) {
  return a.name < b.name ? -1 : 1;
}
