// @ts-check
/**
 * Where to go on after a disconnection, so that nothing is missed and nothing is shown twice.
 *
 * Where several publish into one directory, an event may come a moment after one with a later id. So the page asks for what
 * comes after an id of some seconds before the last, and passes by what it has seen already.
 *
 * @module
 */

/** How much before the last event to go on, in milliseconds. */
const OVERLAP = 5000;
/** How far apart the ids are, among which that one is found. */
const STEP = 500;
/** How long before that one what has been seen may still come again: it was early then, and comes late now. */
const MARGIN = 10_000;
/** At most so many ids are remembered: in a flood, the overlap gets shorter. */
const MAX_SEEN = 100_000;

/** What has been received, as far as it matters for going on. */
export class Progress {
  /**
   * Ids, and when they came; the oldest is where to go on if there is no other. `null` is before all events.
   *
   * @type {{ id: string | null, when: number }[]}
   */
  #places = [];
  /** @type {{ from: number, ids: Set<string> }[]} what has been seen, by the time when it was, the oldest first */
  #seen = [];
  #seenCount = 0;
  #last = 0;
  /** Up to when what has been removed is known to be gone. */
  #gone = "";

  /**
   * Notes an event.
   *
   * @param {string} id
   * @param {number} now a time in milliseconds
   * @returns {boolean} whether it is new
   */
  note(id, now) {
    if (this.#seen.some(({ ids }) => ids.has(id))) return false;
    this.#last = now;
    let newest = this.#seen.at(-1);
    if (newest === undefined || now - newest.from >= STEP || newest.ids.size >= MAX_SEEN / 10) {
      this.#forget();
      newest = { from: now, ids: new Set() };
      this.#seen.push(newest);
      this.#places.push({ id, when: now });
    }
    newest.ids.add(id);
    this.#seenCount++;
    return true;
  }

  /**
   * Notes what the hub says of where a subscription stands that has received nothing yet.
   *
   * @param {string | null} id `null` if there is nothing on the bus
   * @param {number} now
   */
  begin(id, now) {
    if (this.#places.length > 0) return;
    this.#places.push({ id, when: now });
    this.#last = now;
  }

  /**
   * Notes events that are gone.
   *
   * @param {string} id of the last of them
   * @param {string} time of the same
   * @returns {boolean} whether that is news: the hub knows of the place to which the page comes back, and not of what has come after it
   */
  noteGap(id, time) {
    if (this.#seen.some(({ ids }) => ids.has(id)) || time <= this.#gone) return false;
    this.#gone = time;
    return true;
  }

  /**
   * What to ask the hub for.
   *
   * @returns {{ after: string | null } | undefined} `undefined` if there is no place to go on from
   */
  get request() {
    const place = this.#places[this.#placeToGoOn()];
    return place && { after: place.id };
  }

  /** The index of the newest place that lies before the overlap. */
  #placeToGoOn() {
    const found = this.#places.findLastIndex(({ when }) => when <= this.#last - OVERLAP);
    return Math.max(found, 0);
  }

  /** Forgets what is too old to come again. */
  #forget() {
    this.#places.splice(0, this.#placeToGoOn());
    const oldest = (this.#places[0]?.when ?? 0) - MARGIN;
    while (this.#seen.length > 0 && (this.#seen[0].from < oldest || this.#seenCount >= MAX_SEEN)) {
      const { from, ids } = this.#seen[0];
      this.#seenCount -= ids.size;
      this.#seen.shift();
      // Nothing that has been forgotten may come again.
      while (this.#places.length > 1 && this.#places[0].when <= from) this.#places.shift();
    }
  }
}
