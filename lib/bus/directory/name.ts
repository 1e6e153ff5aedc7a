/**
 * The names of events in a directory: `<time>_<topic>`, as the shell pair `inotify-pub` and `inotify-sub` has them. A name is
 * the event's id and its place in the order of events.
 *
 * @module
 */
import { decodeTopic, encodeTopic } from "../../event.ts";
import { formatTime } from "../../time.ts";

/** What a name says. */
export interface EventName {
  /** When the event was published, such as `2026-05-08T12:34:56.123456789Z`. */
  readonly time: string;
  /** Its topic, decoded. It may break the rules for topics: scripts put there what they like. */
  readonly topic: string;
}

/** `date --iso-8601=ns` in UTC, of every coreutils; and `Z`, `.` and fewer digits, as other programs print it. */
const NAME =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60))(?:[,.](\d{1,9}))?(?:\+00:?00|Z)_(.*)$/s;

/** Where the time in a name says that it is in UTC. */
const ZONE_AT = "2026-05-08T12:34:56,123456789".length;

/**
 * Names an event.
 *
 * @param moment nanoseconds since 1970-01-01T00:00:00Z
 * @param topic a topic that keeps the rules
 * @param how `"linked"` if a link has brought it: such a name can be told from others, and is read by all who read those
 * @returns such as `2026-05-08T12:34:56,123456789+00:00_color`; with `Z` for `+00:00` if it is linked
 */
export function formatName(moment: bigint, topic: string, how: "published" | "linked" = "published"): string {
  const time = formatTime(moment).replace(".", ",");
  return `${how === "linked" ? time : time.replace("Z", "+00:00")}_${encodeTopic(topic)}`;
}

/** Whether a link may have brought an event, by its name: there may be a file that says over which buses. */
export function isLinked(name: string): boolean {
  return name.startsWith("Z_", ZONE_AT);
}

/**
 * Reads a name.
 *
 * @param name a file's name, without its directory
 * @returns `undefined` if no event is named so
 */
export function parseName(name: string): EventName | undefined {
  const match = NAME.exec(name);
  if (match === null) return undefined;
  const [, second, fraction = "", topic] = match;
  return { time: `${second}.${fraction.padEnd(9, "0")}Z`, topic: decodeTopic(topic) };
}

/** The topic of an event, by its name. */
export function topicOf(name: string): string {
  return parseName(name)?.topic ?? "";
}

/** The time of an event, by its name. */
export function timeOf(name: string): string {
  return parseName(name)?.time ?? "";
}

/** Whether a name is spelt as {@linkcode formatName} spells it, so that the order of such names is that of their characters. */
function isCanonical(name: string): boolean {
  return name[19] === "," && (name.startsWith("+00:00_", ZONE_AT) || isLinked(name));
}

/** What a name is ordered by: its time, then the whole of it. */
function orderKey(name: string): string {
  return isCanonical(name) ? name : `${timeOf(name).replace(".", ",").replace("Z", "+00:00")}_${name}`;
}

/**
 * Whether one event comes after another.
 *
 * @param name the name of an event
 * @param other the name of another
 */
export function isAfter(name: string, other: string): boolean {
  return orderKey(name) > orderKey(other);
}

/**
 * Puts the names of events in the order of events, which is that of `LC_ALL=C ls` where all are spelt alike.
 *
 * @param names are sorted in place
 */
export function sortNames(names: string[]): string[] {
  if (names.every(isCanonical)) return names.sort();
  const keys = new Map(names.map((name) => [name, orderKey(name)]));
  return names.sort((a, b) => keys.get(a)! < keys.get(b)! ? -1 : 1);
}
