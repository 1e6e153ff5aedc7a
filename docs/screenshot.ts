/**
 * Takes the picture of the dashboard that the documentation shows: `deno run -A docs/screenshot.ts [FILE]`. It takes two minutes,
 * because the chart shows as much. What is kept as `dashboard.png` has been through `pngquant`, which takes three quarters off it.
 */
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

/** What is published: how often a second, under which topics, and with what. */
const traffic: [rate: number, topic: () => string, payload: () => unknown][] = [
  [9, () => "order.created", () => ({ order: id("o"), items: any(5), total: any(90) + 0.5, currency: "EUR" })],
  [6, () => "payment.settled", () => ({ order: id("o"), provider: one("card", "transfer"), ms: 80 + any(200) })],
  [
    14,
    () => `message.sent:conv-${100 + any(6)}`,
    () => ({ from: one("ana", "ben", "chi"), text: one("On it.", "Done", "Can you look at this?") }),
  ],
  [
    4,
    () => `session.${one("a81f", "c20e", "77d1")}.agent.${any(3)}.state`,
    () => ({ state: one("idle", "running", "waiting"), step: any(40) }),
  ],
  [3, () => "sensor.hall-2.temperature", () => 19 + any(30) / 10],
  [
    2,
    () => "build.main.log",
    () => one("compiling 118 files", "ok | 94 passed | 0 failed (12s)", "uploading artifact"),
  ],
  [0.5, () => "deploy.staging", () => ({ version: "2.14.0", ok: true })],
  [0.3, () => "cron.backup", () => "finished in 41 s"],
];
const end = Date.now() + Number(seconds) * 1000;
let step = 0;
while (Date.now() < end) {
  // The day of a shop: it goes up and down, and once there is a rush.
  const wave = 1 + 0.5 * Math.sin(step / 90) + (step % 640 > 520 && step % 640 < 580 ? 1.8 : 0);
  const due = traffic.filter(([rate]) => Math.random() < rate * wave / 10);
  await Promise.all(due.map(async ([, topic, payload]) => {
    await new Promise((resolve) => setTimeout(resolve, any(90)));
    const value = payload();
    const body = typeof value === "string" ? value : JSON.stringify(value);
    const response = await fetch(`${url}/pub/${topic()}`, { method: "POST", body });
    await response.body?.cancel();
  }));
  step++;
  await new Promise((resolve) => setTimeout(resolve, 10));
}
await page.locator("#publish-topic").fill("deploy.production");
await page.locator("#publish-payload").fill('{ "version": "2.14.0", "by": "ana" }');
await page.getByText("JSON", { exact: true }).click();
await page.screenshot({ path: file });
await browser.close();
await hub[Symbol.asyncDispose]();

function any(below: number): number {
  return Math.floor(Math.random() * below);
}

function one(...choices: string[]): string {
  return choices[any(choices.length)];
}

function id(prefix: string): string {
  return `${prefix}-${10_000 + any(90_000)}`;
}
