/** The codec of 9P, with a hole in it. */
import { decodeMessage as decode } from "../../../lib/ninep/codec.ts";
import type { Dialect, Message } from "../../../lib/ninep/message.ts";
import { attack } from "./attack.ts";

export * from "../../../lib/ninep/codec.ts";

export function decodeMessage(frame: Uint8Array, dialect: Dialect): Message {
  attack();
  return decode(frame, dialect);
}
