/**
 * Tokens: what a client shows to say who it is.
 *
 * A file of them has a line for each: `TOKEN NAME [pub=FILTER] [sub=FILTER]...`. A line with neither `pub=` nor `sub=` allows
 * everything; with any of them, it allows what they say and nothing else.
 *
 * @module
 */
import { FilterError } from "../filter.ts";
import { Access } from "./access.ts";
import { TOKEN_PROTOCOL_PREFIX } from "./protocol.ts";

/** A file of tokens was refused. The message says which line, and why. */
export class TokensError extends Error {
  /** `"TokensError"`. */
  override name = "TokensError";
}

/** What a header, and a subprotocol, can hold: RFC 7230's token characters. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

/** The tokens that a hub knows. Their hashes are compared, so that how long it takes says nothing about what they are. */
export class Tokens {
  readonly #access: ReadonlyMap<string, Access>;

  private constructor(access: ReadonlyMap<string, Access>) {
    this.#access = access;
  }

  /**
   * Reads a file of tokens. Empty lines, and those that begin with `#`, are passed by.
   *
   * @param text what is in the file
   * @throws {TokensError} if a line is wrong
   */
  static async parse(text: string): Promise<Tokens> {
    const access = new Map<string, Access>();
    for (const [index, line] of text.split(/\r?\n/).entries()) {
      const words = line.split(/\s+/).filter((word) => word !== "");
      if (words.length === 0 || words[0].startsWith("#")) continue;
      const refuse = (reason: string) => new TokensError(`line ${index + 1}: ${reason}`);
      const [token, name, ...permissions] = words;
      if (!TOKEN.test(token)) {
        throw refuse("a token is made of letters, digits and -._~!#$%&'*+^`|");
      }
      if (name === undefined || name.includes("=")) {
        throw refuse("after the token comes a name: TOKEN NAME [pub=FILTER] [sub=FILTER]...");
      }
      if (/[.:*>]/.test(name)) throw refuse(`the name ${JSON.stringify(name)} holds one of .:*> and could be no id`);
      const key = await digest(token);
      if (access.has(key)) throw refuse("this token is there twice");
      try {
        access.set(key, new Access({ name, ...parsePermissions(permissions) }));
      } catch (error) {
        if (error instanceof FilterError || error instanceof TokensError) throw refuse(error.message);
        throw error;
      }
    }
    if (access.size === 0) {
      throw new TokensError("there is no token in it: a line is TOKEN NAME [pub=FILTER] [sub=FILTER]...");
    }
    return new Tokens(access);
  }

  /** What somebody may do who shows a token; `undefined` if it is none of these. */
  async accessOf(token: string): Promise<Access | undefined> {
    return this.#access.get(await digest(token));
  }
}

function parsePermissions(words: readonly string[]): { publish?: string[]; subscribe?: string[] } {
  if (words.length === 0) return {};
  const publish: string[] = [];
  const subscribe: string[] = [];
  for (const word of words) {
    const [, kind, filter] = /^(pub|sub)=(.*)$/s.exec(word) ?? [];
    if (kind === undefined) throw new TokensError(`${JSON.stringify(word)} is neither pub=FILTER nor sub=FILTER`);
    if (filter.includes(",")) {
      throw new TokensError(
        `${JSON.stringify(word)} holds a comma: for several filters, write ${kind}= again for each`,
      );
    }
    (kind === "pub" ? publish : subscribe).push(filter);
  }
  return { publish, subscribe };
}

async function digest(token: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * The token that a client shows.
 *
 * @param request what it asks
 * @returns the token; `undefined` if there is none
 */
export function tokenOf(request: Request): string | undefined {
  const [, bearer] = /^Bearer +(\S+) *$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  if (bearer !== undefined) return bearer;
  return protocolsOf(request).find((name) => name.startsWith(TOKEN_PROTOCOL_PREFIX))?.slice(
    TOKEN_PROTOCOL_PREFIX.length,
  );
}

/**
 * The subprotocols that a client offers.
 *
 * @param request what it asks
 */
export function protocolsOf(request: Request): string[] {
  const offered = request.headers.get("sec-websocket-protocol") ?? "";
  return offered.split(",").map((name) => name.trim()).filter((name) => name !== "");
}
