/**
 * Which web pages may talk to a hub. A browser lets a page of any site connect to a hub on its user's own machine, and says where
 * the page is from; that must be the hub's own address, or one that is allowed by name. On a loopback address the hub must also have
 * been asked for by a loopback name: a site whose name has been made to lead to this machine (DNS rebinding) has its own.
 *
 * @module
 */
import { isLoopback } from "../loopback.ts";

/** What {@linkcode Visitors} is made of. */
export interface VisitorsOptions {
  /** Whether the hub listens on a loopback address. */
  readonly loopback: boolean;
  /** The origins that are allowed by name, such as `https://example.com`. */
  readonly allowed: readonly string[];
}

/** Those who may come. */
export class Visitors {
  readonly #loopback: boolean;
  readonly #allowed: ReadonlySet<string>;
  readonly #allowedHosts: ReadonlySet<string>;

  /** @param options whom to let in */
  constructor({ loopback, allowed }: VisitorsOptions) {
    this.#loopback = loopback;
    this.#allowed = new Set(allowed);
    this.#allowedHosts = new Set(allowed.flatMap((origin) => URL.canParse(origin) ? [new URL(origin).host] : []));
  }

  /**
   * Why somebody may not come.
   *
   * @param request what was asked
   * @returns a sentence; `undefined` if they may
   */
  refusal(request: Request): string | undefined {
    const { host, hostname, origin: own } = new URL(request.url);
    if (this.#loopback && !isLoopback(hostname) && !this.#allowedHosts.has(host)) {
      return `this hub is not ${JSON.stringify(host)}: ask for it as localhost, or allow that name with --allow-origin`;
    }
    const origin = request.headers.get("origin");
    if (origin === "null") {
      return "a page that is opened as a file has no origin, and may not talk to this hub: serve it by HTTP";
    }
    if (origin !== null && origin !== own && !this.#allowed.has(origin)) {
      return `pages from ${JSON.stringify(origin)} may not talk to this hub, unless --allow-origin names it`;
    }
    return undefined;
  }

  /**
   * What lets a page of an allowed origin read the answer.
   *
   * @param request what was asked, and not refused
   */
  corsHeaders(request: Request): Record<string, string> {
    const origin = request.headers.get("origin");
    if (origin === null || origin === new URL(request.url).origin) return {};
    return {
      "access-control-allow-origin": origin,
      "access-control-allow-methods": "GET, POST",
      "access-control-allow-headers": "authorization, content-type, last-event-id",
      "access-control-max-age": "600",
      "vary": "origin",
    };
  }
}
