/**
 * Takes the picture of the dashboard that the documentation shows: `deno run -A docs/screenshot.ts [FILE]`. It takes two minutes,
 * because the chart shows as much. What is kept as `dashboard.png` has been through `pngquant`, which takes three quarters off it.
 */
import { perform } from "../demo/services.ts";
import { connected, startBrowser, startHub } from "../tests/hub/browser.ts";

const [
  file = new URL("dashboard.png", import.meta.url).pathname,
  colorScheme = "light",
  size = "1280x800",
  seconds = "125",
] = Deno.args;
const [width, height] = size.split("x").map(Number);

const { hub, url } = await startHub("--listen", "127.0.0.1:8080", "mem:");
const browser = await startBrowser();
const page = await browser.newPage({
  viewport: { width, height },
  deviceScaleFactor: 1,
  colorScheme: colorScheme === "dark" ? "dark" : "light",
});
await page.goto(url);
await connected(page);

const publishing = perform(async (topic, payload) => {
  const body = typeof payload === "string" ? payload : JSON.stringify(payload);
  const response = await fetch(`${url}/pub/${topic}`, { method: "POST", body });
  await response.body?.cancel();
});
await Promise.race([publishing, new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1000))]);
await page.locator("#publish-topic").fill("deploy.production");
await page.locator("#publish-payload").fill('{ "version": "2.14.0", "by": "ana" }');
await page.getByText("JSON", { exact: true }).click();
await page.screenshot({ path: file });
await browser.close();
await hub[Symbol.asyncDispose]();
// What is published goes on for ever.
Deno.exit();
