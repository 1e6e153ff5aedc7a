/**
 * What is written into `event` to say what is wanted: filters, then where to begin.
 *
 * @module
 */
import type { SubscribeOptions } from "../../bus.ts";
import { BEFORE_ALL } from "../../bus/place.ts";
import { filterList } from "../../filter.ts";
import { Errno, NinepError } from "../error.ts";

/** What a reader of events has asked for. */
export interface EventRequest {
  /** An event is wanted if any of them matches. */
  readonly filters: readonly string[];
  /** Where to begin. */
  readonly from: NonNullable<SubscribeOptions["from"]>;
  /** Whether payloads are wanted in base64, whatever is in them. */
  readonly base64: boolean;
}

/** What is asked for by reading without a word. */
export const EVERY_EVENT: EventRequest = { filters: [">"], from: "now", base64: false };

/** How much may be asked for at once. */
const MAX_CHARACTERS = 64 * 1024;

/** Words are what stands between white space, but for an id in quotes. */
const WORDS = /after="(?:[^"\\]|\\.)*"(?!\S)|\S+/gs;

/** An option is a word of this form; a filter could be, too, but is then worth an error. */
const OPTION = /^(replay|after|payload)=(.*)$/s;

/**
 * Reads what was written: `FILTER... [replay=all | replay=N | after=ID] [payload=base64]`. Without a filter, every event is
 * meant. An id may be a JSON string: the names of files, which are the ids of a directory's events, may hold white space. An empty
 * one stands for the place before the first event that there ever was.
 *
 * @param text words separated by white space
 * @throws {FilterError} if one of the filters is not one
 * @throws {NinepError} if an option is wrong, or stands before a filter
 */
export function parseRequest(text: string): EventRequest {
  if (text.length > MAX_CHARACTERS) {
    throw invalid(`${text.length} characters were written: ${MAX_CHARACTERS} are allowed`);
  }
  const words = text.match(WORDS) ?? [];
  if (words.length === 0) throw invalid("nothing was asked for: write filters, such as > for every event");
  const firstOption = words.findIndex((word) => OPTION.test(word));
  const [filters, options] = firstOption < 0 ? [words, []] : [words.slice(0, firstOption), words.slice(firstOption)];
  let from: EventRequest["from"] | undefined;
  let base64 = false;
  for (const word of options) {
    const [, name, value] = OPTION.exec(word) ?? [];
    if (name === undefined) throw invalid(`${JSON.stringify(word)} stands after an option: filters come first`);
    if (name === "payload") {
      if (value !== "base64") throw invalid(`payload= takes base64, not ${JSON.stringify(value)}`);
      base64 = true;
      continue;
    }
    if (from !== undefined) throw invalid("events begin at one place: write one replay= or after=");
    if (name === "after" && value === "") throw invalid("after= takes the id of an event");
    from = name === "after" ? parsePlace(value) : parseReplay(value);
  }
  return { filters: filterList(filters.length > 0 ? filters : ">"), from: from ?? "now", base64 };
}

function parsePlace(value: string): EventRequest["from"] {
  if (!value.startsWith('"')) return { after: value };
  try {
    const id = JSON.parse(value);
    return id === "" ? BEFORE_ALL : { after: id };
  } catch {
    throw invalid(`after= takes an id, or a JSON string, not ${value}`);
  }
}

function parseReplay(value: string): EventRequest["from"] {
  if (value === "all") return "start";
  const last = /^\d+$/.test(value) ? Number(value) : NaN;
  if (!Number.isSafeInteger(last)) {
    throw invalid(`replay= takes all or a number of events, not ${JSON.stringify(value)}`);
  }
  return last === 0 ? "now" : { last };
}

function invalid(message: string): NinepError {
  return new NinepError(message, Errno.EINVAL);
}
