/**
 * What a hub sends, taken apart. A client believes its hub, but not that whatever answers at an address is one.
 *
 * @module
 */
import type { EventMark } from "../../bus.ts";
import { isIdentity, isVia } from "../../identity.ts";
import type { Envelope } from "../envelope.ts";

/** An envelope that has come. */
export interface Received extends Envelope {
  /** The event's id, where the hub gave it. */
  readonly at?: string;
  /** When it was published, where the hub told. */
  readonly time?: string;
}

/** An answer of the hub, which is the payload of a control envelope. */
export interface Answer {
  /** What was asked for, or was wrong. */
  readonly topic?: unknown;
  /** What the question had as its `ref`. */
  readonly ref?: unknown;
  /** Why it was refused, or is not to be had. */
  readonly reason: string;
  /** Whether to ask for the same again would bring the same. */
  readonly refused: boolean;
  /** The identity of the hub's bus. */
  readonly identity: string | undefined;
  /** The id of the event after which something is gone. */
  readonly after: string | undefined;
  /** A position; `null` for the start, `undefined` if the hub cannot tell. */
  readonly place: EventMark | null | undefined;
}

/**
 * Reads an envelope.
 *
 * @param text one
 * @param parse what parses JSON
 * @returns `undefined` if it is none
 */
export function readReceived(text: string, parse: (text: string) => unknown): Received | undefined {
  let said: unknown;
  try {
    said = parse(text);
  } catch {
    return undefined;
  }
  const { type, id = "", payload = null, payload_base64, via, at, time } = membersOf(said);
  if (typeof type !== "string" || type === "" || typeof id !== "string") return undefined;
  if (payload_base64 !== undefined && typeof payload_base64 !== "string") return undefined;
  if (at !== undefined && typeof at !== "string") return undefined;
  if (time !== undefined && typeof time !== "string") return undefined;
  return { type, id, payload, payload_base64, at, time, ...isVia(via) ? { via } : {} };
}

/**
 * Reads the payload of a control envelope.
 *
 * @param payload a JSON value
 */
export function readAnswer(payload: unknown): Answer {
  const { topic, ref, reason, refused, identity, after, at, time } = membersOf(payload);
  const place = typeof at === "string" ? { id: at, time: typeof time === "string" ? time : "" } : undefined;
  return {
    topic,
    ref,
    reason: typeof reason === "string" ? reason : "it did not say why",
    refused: refused === true,
    identity: isIdentity(identity) ? identity : undefined,
    after: typeof after === "string" ? after : undefined,
    place: at === null ? null : place,
  };
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  // Whatever an object has, it has under names.
  return typeof value === "object" && value !== null ? value as Readonly<Record<string, unknown>> : {};
}
