/** What reads envelopes, with a hole in it. */
import { type Envelope, parseEnvelope as parse } from "../../../lib/hub/envelope.ts";
import { attack } from "./attack.ts";

export * from "../../../lib/hub/envelope.ts";

export function parseEnvelope(text: string): Envelope {
  attack();
  return parse(text);
}
