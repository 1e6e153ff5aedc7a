/// <reference lib="dom" />
/**
 * Makes the picture of what Ollie is, one event in a shell, in a file and in a browser: `deno run -A docs/picture.ts [FILE]`. What
 * it shows has been typed, printed and displayed as the picture is made, in a directory of its own. What is kept as `picture.png`
 * has been through `pngquant`.
 */
import { ollie, OLLIE_IN_SHELL, Running, startListening } from "../tests/cli/ollie.ts";
import { until } from "../tests/deadline.ts";
import { connected, startBrowser } from "../tests/hub/browser.ts";
import { temporaryDirectory } from "../tests/temporary.ts";

const [file = new URL("picture.png", import.meta.url).pathname] = Deno.args;

/** What is published, one after the other. The last one is what the picture is about. */
const PUBLISHED = [["deploy.shop", "2.13.0 is live"], ["backup.db", "done in 41 s"], ["deploy.shop", "2.14.0 is live"]];
const FILTER = "deploy.*";

/** The background of the event that the picture is about, as in picture.html. */
const MARKED = "#d9ebec";

using directory = temporaryDirectory();
const bus = `${directory.path}/bus`;
const { running: server } = await startListening("serve9p", ["--listen", `unix:${directory.path}/9p`, bus]);
await using _server = server;
const { running: hub, address } = await startListening("hub", ["--listen", "127.0.0.1:8080", bus]);
await using _hub = hub;
await using browser = await startBrowser();
const dashboard = await browser.newPage({ viewport: { width: 900, height: 700 }, deviceScaleFactor: 2 });
await dashboard.goto(address);
await connected(dashboard);
await dashboard.locator("#filter").fill(FILTER);
await dashboard.locator("#filter").blur();

/** Types a command into a shell in the directory. A signal goes to all that the shell has started, too. */
const typed = (command: string) =>
  new Running([
    "timeout",
    "60",
    "bash",
    "-c",
    `cd '${directory.path}'; ollie() { ${OLLIE_IN_SHELL} "$@"; }; ${command}`,
  ]);

const shellCommand = "ollie sub -m -f text bus";
await using shell = typed(shellCommand);
const ninepCommand = `echo '${FILTER}' | ollie 9p -a unix:9p rdwrs event`;
await using ninep = typed(ninepCommand);
await until("the reader over 9P", async () => {
  const { stdout } = await ollie(["9p", "-a", `unix:${directory.path}/9p`, "read", "stats"]);
  return /^subscriptions 1$/m.test(stdout);
});

const published: string[] = [];
for (const [topic, payload] of PUBLISHED) {
  const command = `echo ${payload} | ollie pub bus ${topic}`;
  published.push(prompt(command));
  await using publisher = typed(command);
  await publisher.status;
}
const listCommand = "ls bus/events";
await using list = typed(listCommand);
published.push(prompt(listCommand), ...marked(await list.stdout.rest()));

const inShell = marked(await shell.stdout.take(PUBLISHED.length));
const overNinep = marked(await ninep.stdout.take(2));
await dashboard.locator("#tail li").nth(1).waitFor();
await dashboard.locator("#tail li").first().evaluate((row, color) => row.style.background = color, MARKED);
const events = await dashboard.locator(".events").boundingBox();
const row = await dashboard.locator("#tail li").first().boundingBox();
if (events === null || row === null) throw new Error("the dashboard shows no events");
/** As much of it as holds what was received, and a little more. */
const clip = { ...events, height: 98 };
const inBrowser = await dashboard.screenshot({ clip });

const picture = await browser.newPage({ viewport: { width: 1000, height: 600 }, deviceScaleFactor: 2 });
await picture.goto(new URL("picture.html", import.meta.url).href);
const texts = {
  publish: published,
  shell: [prompt(shellCommand), ...inShell],
  ninep: [prompt(ninepCommand), ...overNinep],
  address: [escaped(`${address}/`)],
};
for (const [id, lines] of Object.entries(texts)) {
  await picture.locator(`#${id}`).evaluate((element, html) => element.innerHTML = html, lines.join("\n"));
}
await picture.locator("img#browser").evaluate((image: HTMLImageElement, source) => {
  image.src = source;
  return image.decode();
}, `data:image/png;base64,${inBrowser.toString("base64")}`);
await picture.evaluate(connect, (row.y + row.height / 2 - clip.y) / clip.height);
await picture.locator("body").screenshot({ path: file });
for (const watching of [shell, ninep]) {
  watching.signal("SIGTERM");
  await watching.status;
}

/**
 * In the page: draws lines from the event as it is published to where it is received.
 *
 * @param inBrowser how far down the image of the browser that is, of 1
 */
function connect(inBrowser: number): void {
  const elementAt = (selector: string) => {
    const element = document.querySelector(selector);
    if (element === null) throw new Error(`picture.html has no ${selector}`);
    return element;
  };
  const boxOf = (selector: string) => elementAt(selector).getBoundingClientRect();
  const middle = ({ y, height }: DOMRect) => y + height / 2;
  const from = { x: boxOf(".left .window").right, y: middle(boxOf("#publish mark")) };
  const x = boxOf(".right .window").left;
  const browser = boxOf("#browser");
  const ends = [middle(boxOf("#shell mark")), middle(boxOf("#ninep mark")), browser.top + inBrowser * browser.height];
  const half = (from.x + x) / 2;
  const arrows = ends.map((y) =>
    `<path d="M${from.x} ${from.y}C${half} ${from.y} ${half} ${y} ${x - 5} ${y}m-4-4l4 4-4 4"/>`
  );
  elementAt("svg").innerHTML = `${arrows.join("")}<circle cx="${from.x}" cy="${from.y}" r="3.5"/>`;
}

/** What somebody has typed, as HTML. */
function prompt(command: string): string {
  return `<span class="typed">$ <b>${escaped(command)}</b></span>`;
}

/** Lines as HTML, the last of them marked. */
function marked(lines: readonly (string | undefined)[]): string[] {
  return lines.map((line = "", i) => i === lines.length - 1 ? `<mark>${escaped(line)}</mark>` : escaped(line));
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
