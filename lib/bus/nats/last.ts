/**
 * Where the last few events begin that match some filters. No stream can be asked that, so it is read backwards, in parts that
 * grow: without payloads, and no further than it takes.
 *
 * @module
 */
import { parseId } from "./mark.ts";
import { Past } from "./past.ts";
import type { Stream } from "./stream.ts";

/** How far back it is looked at first, as a number of events of the whole stream. */
const FIRST_LOOK = 256;
/** How much further it is looked each time. */
const GROWTH = 4;

/**
 * Finds the place.
 *
 * @param stream which
 * @param filters which events count
 * @param matches whether a topic is one of theirs
 * @param count how many events are wanted, at least 1
 * @param isWanted whether to go on when the server is away
 * @returns the sequence to begin after
 */
export async function placeOfLast(
  stream: Stream,
  filters: readonly string[],
  matches: (topic: string) => boolean,
  count: number,
  isWanted: () => boolean,
): Promise<number> {
  const { first, last } = await stream.insist(() => stream.info(), isWanted);
  const subjects = stream.subjectsOf(filters);
  for (let look = Math.max(FIRST_LOOK, count);; look *= GROWTH) {
    const after = Math.max(first - 1, last - look);
    const isAll = after <= first - 1;
    const past = new Past(stream, subjects, { after, headersOnly: true });
    try {
      // What looks wanted is at least what is.
      if (!isAll && await past.pending() < count) continue;
      const found: number[] = [];
      for (let isLast = false; !isLast;) {
        const batch = await past.read();
        isLast = batch.isLast || batch.last >= last;
        for (const arrival of batch.arrivals) {
          if (arrival instanceof Error || !matches(arrival.topic)) continue;
          const { sequence } = parseId(arrival.id);
          if (sequence <= last) found.push(sequence);
        }
        if (found.length > 2 * count) found.splice(0, found.length - count);
      }
      if (found.length >= count) return found[found.length - count] - 1;
      if (isAll) return after;
    } finally {
      past.close();
    }
  }
}
