// @ts-check
/**
 * Which events the tail shows: the filters of `lib/filter.ts`, of which this says the same in the browser. The page hears of
 * every event, for its rates, so it picks those of the tail itself, the ones that have passed as well.
 *
 * @module
 */

/**
 * Reads what stands in the filter box: filters, separated by white space. An event that matches one of them is shown, and
 * every event is if there is none.
 *
 * @param {string} text
 * @returns {(topic: string) => boolean}
 * @throws {Error} saying what is wrong with one of them
 */
export function compileFilters(text) {
  const tests = filtersOf(text).map(compileFilter);
  if (tests.length === 0) return () => true;
  if (tests.length === 1) return tests[0];
  return (topic) => tests.some((test) => test(topic));
}

/**
 * The filters in a text.
 *
 * @param {string} text
 * @returns {string[]}
 */
export function filtersOf(text) {
  return text.split(/\s+/).filter((filter) => filter !== "");
}

/**
 * Makes a test of one filter.
 *
 * @param {string} filter
 * @returns {(topic: string) => boolean}
 * @throws {Error} if it is not a filter
 */
export function compileFilter(filter) {
  if (filter === "*" || filter === ">") return () => true;
  const pattern = filter.split(".");
  if (pattern.includes("")) {
    throw new Error(
      filter === ""
        ? 'the filter "" is empty: to match every event, use >'
        : `the filter ${JSON.stringify(filter)} has an empty segment: to match any one segment there, use *`,
    );
  }
  if (pattern.slice(0, -1).includes(">")) {
    throw new Error(
      `the filter ${JSON.stringify(filter)} has > before its end: > stands last; to match any one segment, use *`,
    );
  }
  const open = pattern.at(-1) === ">";
  const tests = (open ? pattern.slice(0, -1) : pattern).map(segmentTest);
  return (topic) => {
    const segments = topic.split(".");
    return (open ? segments.length > tests.length : segments.length === tests.length) &&
      tests.every((test, i) => test(segments[i]));
  };
}

/**
 * @param {string} pattern
 * @returns {(segment: string) => boolean}
 */
function segmentTest(pattern) {
  if (pattern === "*") return () => true;
  if (pattern.length <= 2 || !pattern.endsWith(":*")) return (segment) => segment === pattern;
  const prefix = pattern.slice(0, -1);
  return (segment) => segment.length > prefix.length && segment.startsWith(prefix);
}
