/**
 * What a client asks of the hub in the payload of a control envelope.
 *
 * @module
 */
import type { SubscribeOptions } from "../bus.ts";
import { BEFORE_ALL } from "../bus/place.ts";
import { checkFilter, FilterError } from "../filter.ts";
import { EnvelopeError } from "./envelope.ts";

/** What a `__subscribe` asks for. */
export interface SubscribeRequest {
  /** What is wanted. */
  readonly filters: readonly string[];
  /** Where to begin; `undefined` if nothing was said about it, so that no position is wanted, either. */
  readonly from: SubscribeOptions["from"];
  /** Whether the buses that an event has been on are wanted. */
  readonly via: boolean;
}

/**
 * Reads the payload of a `__subscribe`: `{ "topic": FILTER or [FILTER...], "after"?: ID or null, "replay"?: "all" or N, "via"?: true }`.
 *
 * @param payload a JSON value
 * @throws {EnvelopeError} if it is none, or one of the filters is not one
 */
export function parseSubscribe(payload: unknown): SubscribeRequest {
  const filters = parseFilters(payload);
  const { after, replay, via = false } = membersOf(payload);
  if (typeof via !== "boolean") throw new EnvelopeError('"via" takes true or false');
  if (after !== undefined && replay !== undefined) {
    throw new EnvelopeError('"after" and "replay" both say where to begin: one of them can');
  }
  if (after !== undefined) {
    if (after === null) return { filters, from: BEFORE_ALL, via };
    if (typeof after !== "string") throw new EnvelopeError('"after" takes the id of an event, a string, or null');
    return { filters, from: { after }, via };
  }
  return { filters, from: replay === undefined ? undefined : parseReplay(replay), via };
}

/**
 * Reads the filters, each once, of a `__subscribe` or an `__unsubscribe`.
 *
 * @param payload a JSON value
 * @throws {EnvelopeError} if there are none, or one of them is not one
 */
export function parseFilters(payload: unknown): readonly string[] {
  const { topic } = membersOf(payload);
  const filters = Array.isArray(topic) ? topic : [topic];
  if (filters.length === 0 || !filters.every((filter) => typeof filter === "string")) {
    throw new EnvelopeError('its payload needs a "topic", which is a filter or a list of filters');
  }
  filters.forEach(checkFilterOfMany);
  return [...new Set<string>(filters)];
}

function checkFilterOfMany(filter: string): void {
  try {
    checkFilter(filter);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    throw new EnvelopeError(error.message, { topic: filter, cause: error });
  }
}

/**
 * Reads how much of the past is wanted.
 *
 * @param replay `"all"`, or a number of events
 * @throws {EnvelopeError} if it is neither
 */
export function parseReplay(replay: unknown): SubscribeOptions["from"] {
  if (replay === "all") return "start";
  // In an envelope, a number is kept as it was written.
  const last = typeof replay === "string" ? NaN : Number(JSON.stringify(replay));
  if (!Number.isSafeInteger(last) || last < 0) {
    throw new EnvelopeError('"replay" takes "all", or a number of events');
  }
  return last === 0 ? "now" : { last };
}

function membersOf(payload: unknown): Readonly<Record<string, unknown>> {
  return typeof payload === "object" && payload !== null ? payload as Readonly<Record<string, unknown>> : {};
}
