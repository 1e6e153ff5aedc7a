/**
 * What is to stay in a directory, as it is typed: the options of `ollie prune`, and the same words in the value of `--retain`.
 *
 * @module
 */
import { parseAddress } from "../address.ts";
import type { PruneLimits } from "../bus/directory/outdated.ts";
import { UsageError } from "./args.ts";
import type { OptionTable } from "./command.ts";
import { parseAge, parseBytes, parseCount } from "./quantity.ts";

/** What was typed. */
export interface LimitTexts {
  readonly "older-than"?: string;
  readonly keep?: string;
  readonly "max-bytes"?: string;
}

const NAMES = ["older-than", "keep", "max-bytes"] as const satisfies readonly (keyof LimitTexts)[];

/**
 * Reads limits.
 *
 * @param texts those that were given
 * @param before what the name of one is preceded by in errors: the dashes of an option, say
 * @throws {UsageError} if one of them is none
 */
export function parseLimits(texts: LimitTexts, before = "--"): PruneLimits {
  const { "older-than": olderThan, keep, "max-bytes": maxBytes } = texts;
  return {
    olderThan: olderThan === undefined ? undefined : parseAge(olderThan, `${before}older-than`),
    keep: keep === undefined ? undefined : parseCount(keep, `${before}keep`),
    maxBytes: maxBytes === undefined ? undefined : parseBytes(maxBytes, `${before}max-bytes`),
  };
}

/** A directory that a server keeps within limits. */
export interface Retained {
  /** The directory. */
  readonly path: string;
  /** What is to stay in it. */
  readonly limits: PruneLimits;
}

/** The option of a server. */
export const RETAIN_OPTION = {
  retain: {
    value: "POLICY",
    help:
      "keep BUS, a directory, within limits such as older-than=7d,keep=100000,max-bytes=1G: as ollie prune does, once a minute or so",
  },
} as const satisfies OptionTable;

/**
 * Reads the value of `--retain`.
 *
 * @param policy such as `older-than=7d,keep=100000,max-bytes=1G`; `undefined` if it was not given
 * @param address what is served
 * @throws {UsageError} if it is none, or what is served is no directory
 */
export function parseRetain(policy: string | undefined, address: string): Retained | undefined {
  if (policy === undefined) return undefined;
  const { scheme, rest } = parseAddress(address);
  if (scheme !== "dir") throw new UsageError(`--retain is about a directory, which ${address} is not`);
  const texts: { -readonly [Name in keyof LimitTexts]: LimitTexts[Name] } = {};
  for (const limit of policy.split(",")) {
    const [, typed, value] = /^([^=]*)=(.*)$/s.exec(limit) ?? [];
    const name = NAMES.find((name) => name === typed);
    if (name === undefined || texts[name] !== undefined) {
      throw new UsageError(
        `--retain takes limits such as older-than=7d,keep=100000,max-bytes=1G, each once at most; not ${
          JSON.stringify(policy)
        }`,
      );
    }
    texts[name] = value;
  }
  return { path: rest, limits: parseLimits(texts, "--retain ") };
}
