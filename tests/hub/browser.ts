/// <reference lib="dom" />
/**
 * A browser to look at the dashboard with, and a hub to look at, both as processes.
 */
import assert from "node:assert/strict";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { type Running, startListening } from "../cli/ollie.ts";

/** Where the browser is; `undefined` if there is none on this machine. */
export const browserPath = (Deno.env.get("PATH") ?? "").split(":").map((directory) => `${directory}/chromium`).find(
  isFile,
);

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** Starts the browser. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
}

/** Starts `ollie hub` and waits until it listens. Returns its address, too. */
export async function startHub(...args: string[]): Promise<{ hub: Running; url: string }> {
  const { running: hub, address: url } = await startListening("hub", args);
  return { hub, url };
}

/** Waits until the page is connected. */
export async function connected(page: Page): Promise<void> {
  await page.locator('#connection[data-state="connected"]').waitFor();
}

/** A browser's complaints about a hub that is away, or that asks for a token, which no page can keep it from making. */
const EXPECTED = /^(WebSocket connection to '[^']*' failed|Failed to load resource: (net::ERR_CONNECTION|.*\b401\b))/;

/** Opens tabs, and watches what they do. */
export class Tabs implements AsyncDisposable {
  readonly #context: BrowserContext;
  readonly #url: string;
  readonly #complaints: string[] = [];
  readonly #requests: string[] = [];

  private constructor(context: BrowserContext, url: string) {
    this.#context = context;
    this.#url = url;
  }

  /** Makes ready to open them. */
  static async of(browser: Browser, url: string, width = 1280): Promise<Tabs> {
    const context = await browser.newContext({ viewport: { width, height: 800 } });
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
        console.error("violation", violatedDirective, blockedURI);
      });
    });
    const tabs = new Tabs(context, url);
    context.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") tabs.#complaints.push(message.text());
    });
    context.on("weberror", (error) => tabs.#complaints.push(String(error.error())));
    context.on("request", (request) => tabs.#requests.push(request.url()));
    context.on("dialog", (dialog) => {
      tabs.#complaints.push(`a dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    context.on("page", (page) => page.on("websocket", (socket) => tabs.#requests.push(socket.url())));
    return tabs;
  }

  /** Opens one. */
  async open(): Promise<Page> {
    const page = await this.#context.newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(this.#url);
    return page;
  }

  /** Opens one and waits until it is connected. */
  async openConnected(): Promise<Page> {
    const page = await this.open();
    await connected(page);
    return page;
  }

  /** Closes them. They have done nothing that they should not. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
    assert.deepEqual(this.#complaints.filter((complaint) => !EXPECTED.test(complaint)), []);
    const { host } = new URL(this.#url);
    assert.deepEqual(this.#requests.filter((url) => new URL(url).host !== host), []);
  }
}
