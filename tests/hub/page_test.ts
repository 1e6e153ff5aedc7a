/// <reference lib="dom" />
/**
 * The dashboard in a real browser, against a real hub.
 */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { DirectoryBus } from "../../lib/bus/directory.ts";
import { prune } from "../../lib/bus/directory/prune.ts";
import { until } from "../deadline.ts";
import { temporaryDirectory } from "../temporary.ts";
import { browserPath, connected, startBrowser, startHub, Tabs } from "./browser.ts";
import { RestartedHub } from "./running_hub.ts";

/** Publishes an event as `curl` would. */
async function publish(url: string, topic: string, payload: string | Uint8Array<ArrayBuffer>): Promise<void> {
  const response = await fetch(`${url}/pub/${encodeURIComponent(topic)}`, { method: "POST", body: payload });
  assert.equal(response.status, 201, await response.text());
}

/** The topics and payloads in the tail, the newest first. */
async function tail(page: Page): Promise<string[]> {
  return await page.locator("#tail > li > .event").evaluateAll((rows) =>
    rows.map((row) => [".topic", ".payload"].map((part) => row.querySelector(part)?.textContent).join(" "))
  );
}

/** Waits until the tail is this, and nothing else. */
async function tailIs(page: Page, rows: string[]): Promise<void> {
  let last: string[] = [];
  try {
    await until("the tail", async () => JSON.stringify(last = await tail(page)) === JSON.stringify(rows));
  } catch {
    assert.deepEqual(last, rows);
  }
}

/** Waits until an element says this. */
async function says(page: Page, selector: string, text: string | RegExp): Promise<void> {
  let last: string | null = "";
  try {
    await until(selector, async () => {
      last = await page.locator(selector).textContent();
      return typeof text === "string" ? last === text : text.test(last ?? "");
    });
  } catch {
    assert.fail(`${selector} says ${JSON.stringify(last)} and not ${text}`);
  }
}

async function overflow(page: Page): Promise<number> {
  return await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

Deno.test({ name: "the dashboard", ignore: browserPath === undefined }, async (t) => {
  const browser = await startBrowser();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => browser.close());

  await t.step("what is published in one tab is seen in another", async () => {
    const { hub, url } = await startHub("--listen", "127.0.0.1:0", "mem:");
    await using _ = hub;
    await using tabs = await Tabs.of(browser, url);
    const [one, other] = [await tabs.openConnected(), await tabs.openConnected()];

    await one.getByLabel("Topic", { exact: true }).fill("color.wall");
    await one.getByLabel("Payload", { exact: true }).fill("red");
    await one.getByRole("button", { name: "Publish" }).click();
    await says(one, "#publish-outcome", /^Published at \d\d:\d\d:\d\d\.\d{3}$/);
    for (const page of [one, other]) await tailIs(page, ["color.wall red"]);

    await one.getByText("JSON", { exact: true }).click();
    await one.getByLabel("Payload", { exact: true }).fill('{ "n": 12345678901234567890,\n "list": [1.0] }');
    await one.getByRole("button", { name: "Publish" }).click();
    await tailIs(other, ['color.wall { "n": 12345678901234567890, "list": [ 1.0 ] }', "color.wall red"]);

    await says(other, "#received", "2");
    await says(other, "#topics tr:first-child td:nth-child(3)", "2");
    await until("a rate", async () => await other.locator("#topics .rate").textContent() !== "0");
    await until("a bar", async () => (await other.locator("#chart-bars").getAttribute("d") ?? "") !== "");
    assert.match(await other.locator("#chart").getAttribute("aria-label") ?? "", /, [12] at most$/);
  });

  await t.step("text is published to the byte, and what is wrong is said beside the form", async () => {
    const { hub, url } = await startHub("--listen", "127.0.0.1:0", "mem:");
    await using _ = hub;
    await using tabs = await Tabs.of(browser, url);
    const page = await tabs.openConnected();
    const stream = await fetch(`${url}/sub/%3E`);
    const received = stream.body!.pipeThrough(new TextDecoderStream()).getReader();

    await page.locator("#publish-topic").fill("number");
    await page.locator("#publish-payload").fill("1e3 ");
    await page.locator("#publish-button").click();
    await says(page, "#publish-outcome", /^Published/);
    let text = "";
    while (!text.includes("payload_base64")) text += (await received.read()).value;
    assert.equal(atob(/"payload_base64":"([^"]*)"/.exec(text)![1]), "1e3 ");
    await received.cancel();

    await page.locator("#publish-topic").fill("two words");
    await page.locator("#publish-button").click();
    await says(page, "#publish-outcome", /^the topic "two words" holds white space/);
    await page.locator("#publish-topic").fill("__ping");
    await page.locator("#publish-button").click();
    await says(page, "#publish-outcome", /reserved for control/);
    await page.getByText("JSON", { exact: true }).click();
    await page.locator("#publish-topic").fill("color");
    await page.locator("#publish-payload").fill("{");
    await page.locator("#publish-button").click();
    await says(page, "#publish-outcome", /^This is not JSON: /);
    await says(page, "#received", "1");
  });

  await t.step("a filter picks from what has come and what comes, and a bad one says why it is", async () => {
    const { hub, url } = await startHub("--listen", "127.0.0.1:0", "mem:");
    await using _ = hub;
    await using tabs = await Tabs.of(browser, url);
    const page = await tabs.openConnected();
    for (const topic of ["a.x", "b.x", "a.y.z", "m:1"]) await publish(url, topic, topic);
    await tailIs(page, ["m:1 m:1", "a.y.z a.y.z", "b.x b.x", "a.x a.x"]);
    await page.getByLabel("Filter", { exact: true }).fill("a.>");
    await tailIs(page, ["a.y.z a.y.z", "a.x a.x"]);
    await publish(url, "b.y", "no");
    await publish(url, "a.new", "yes");
    await tailIs(page, ["a.new yes", "a.y.z a.y.z", "a.x a.x"]);
    await page.getByLabel("Filter", { exact: true }).fill("a..>");
    await says(
      page,
      "#filter-reason",
      'The filter "a..>" has an empty segment: to match any one segment there, use *. Still showing a.>.',
    );
    assert.equal(await page.getByLabel("Filter", { exact: true }).getAttribute("aria-invalid"), "true");
    await page.getByLabel("Filter", { exact: true }).fill("m:* *.y");
    await tailIs(page, ["b.y no", "m:1 m:1"]);
    await says(page, "#filter-reason", "");
    await page.getByRole("button", { name: "b.x" }).click();
    await tailIs(page, ["b.x b.x"]);
    await page.getByLabel("Filter", { exact: true }).press("Escape");
    await tailIs(page, ["a.new yes", "b.y no", "m:1 m:1", "a.y.z a.y.z", "b.x b.x", "a.x a.x"]);
    await page.getByRole("button", { name: "Clear" }).click();
    await tailIs(page, []);
  });

  await t.step("while the tail is paused events wait, and none is lost up to the number that is said", async () => {
    const { hub, url } = await startHub("--listen", "127.0.0.1:0", "mem:");
    await using _ = hub;
    await using tabs = await Tabs.of(browser, url);
    const page = await tabs.openConnected();
    await publish(url, "n", "0");
    await tailIs(page, ["n 0"]);
    await page.getByRole("button", { name: "Pause" }).click();
    for (let n = 1; n <= 3; n++) await publish(url, "n", String(n));
    await says(page, "#tail-state", "Paused; 3 waiting. Up to 1,000 are kept.");
    await tailIs(page, ["n 0"]);
    await page.getByRole("button", { name: "Resume" }).click();
    await tailIs(page, ["n 3", "n 2", "n 1", "n 0"]);
    await says(page, "#tail-state", "");

    await page.getByRole("button", { name: "Pause" }).click();
    for (let n = 4; n < 1009; n++) await publish(url, "n", String(n));
    await says(page, "#tail-state", "Paused; 1,000 waiting, the latest; 5 before them are gone.");
    await page.getByRole("button", { name: "Resume" }).click();
    await tailIs(page, Array.from({ length: 1000 }, (_, i) => `n ${1008 - i}`));
  });

  await t.step("an event can be opened, which pauses the tail", async () => {
    const { hub, url } = await startHub("--listen", "127.0.0.1:0", "mem:");
    await using _ = hub;
    await using tabs = await Tabs.of(browser, url);
    const page = await tabs.openConnected();
    await publish(url, "a.b", '{"a":{"b":1.0}}');
    await publish(url, "bytes", new Uint8Array([0, 255]));
    await tailIs(page, ["bytes binary, 2 bytes", 'a.b { "a": { "b": 1.0 } }']);
    const row = page.locator(".event", { hasText: "a.b" });
    await row.click();
    assert.equal(await row.getAttribute("aria-expanded"), "true");
    assert.equal(await page.locator(".detail pre").textContent(), '{\n  "a": {\n    "b": 1.0\n  }\n}');
    await publish(url, "later", "x");
    await says(page, "#tail-state", "Paused; 1 waiting. Up to 1,000 are kept.");
    await row.click();
    await page.locator(".detail").waitFor({ state: "detached" });
  });

  await t.step("whatever an event holds is shown as text", async () => {
    const { hub, url } = await startHub("--listen", "127.0.0.1:0", "mem:");
    await using _ = hub;
    await using tabs = await Tabs.of(browser, url);
    const page = await tabs.openConnected();
    const hostile = [
      "<img src=x onerror=alert(1)>",
      "</script><script>alert(2)</script>",
      '"><svg onload=alert(3)>',
      '{"__proto__":{"x":"<b>"},"constructor":"<i>"}',
    ];
    for (const payload of hostile) await publish(url, "x", payload);
    await publish(url, "<img/src=x/onerror=alert(4)>", "topic");
    await publish(url, "__proto__".slice(1), "inherited");
    await tailIs(page, [
      "_proto__ inherited",
      "<img/src=x/onerror=alert(4)> topic",
      'x { "__proto__": { "x": "<b>" }, "constructor": "<i>" }',
      ...hostile.slice(0, 3).reverse().map((payload) => `x ${payload}`),
    ]);
    for (const row of await page.locator(".event").all()) await row.click();
    assert.deepEqual((await page.locator(".detail pre").allTextContents()).slice(-3), hostile.slice(0, 3).reverse());
    await page.locator("#topics button", { hasText: "<img" }).waitFor();
    assert.equal(await page.locator("img, script:not([src]), #tail svg, #tail b, #tail i").count(), 0);
  });

  await t.step(
    "the page outlives its hub, and misses nothing that is published into the directory meanwhile",
    async () => {
      using directory = temporaryDirectory();
      await using bus = new DirectoryBus(directory.path);
      await using hub = await RestartedHub.start(directory.path);
      await using tabs = await Tabs.of(browser, hub.url.replace("ws:", "http:"));
      const page = await tabs.openConnected();
      await bus.publish("n", "0");
      await tailIs(page, ["n 0"]);

      const publishUntil = async (last: number) => {
        for (; published < last; published++) await bus.publish("n", String(published + 1));
      };
      let published = 0;
      await publishUntil(100);
      await says(page, "#received", "101");
      for (let round = 1; round <= 2; round++) {
        const goingOn = publishUntil(published + 200);
        await hub.kill();
        await page.locator('#connection[data-state="waiting"]').waitFor();
        await says(page, "#connection-state", "Reconnecting");
        await page.locator("#publish-topic").fill("n");
        await page.locator("#publish-topic").press("Enter");
        await says(page, "#publish-outcome", "There is no connection to the hub now.");
        await goingOn;
        await hub.restart();
        const alsoGoingOn = publishUntil(published + 50);
        await connected(page);
        await alsoGoingOn;
      }
      await tailIs(page, Array.from({ length: 601 }, (_, i) => `n ${600 - i}`));
      await says(page, "#received", "601");
      assert(await page.locator("#notice").isHidden());
    },
  );

  await t.step("where the bus keeps nothing, the page says that it may have missed some", async () => {
    await using hub = await RestartedHub.start("mem:");
    const url = new URL(hub.url.replace("ws:", "http:")).origin;
    await using tabs = await Tabs.of(browser, url);
    const page = await tabs.openConnected();
    await publish(url, "n", "1");
    await tailIs(page, ["n 1"]);
    await hub.kill();
    await hub.restart();
    await says(page, "#notice-text", /^Events may have been missed: the connection was lost at \d\d:\d\d:\d\d, /);
    await publish(url, "n", "2");
    await tailIs(page, ["n 2", "n 1"]);
    await page.getByRole("button", { name: "Dismiss" }).click();
    assert(await page.locator("#notice").isHidden());
  });

  await t.step("where events are removed while the hub is away, the page says that they are missing", async () => {
    using directory = temporaryDirectory();
    await using bus = new DirectoryBus(directory.path);
    await using hub = await RestartedHub.start(directory.path);
    await using tabs = await Tabs.of(browser, hub.url.replace("ws:", "http:"));
    const page = await tabs.openConnected();
    await bus.publish("n", "1");
    await tailIs(page, ["n 1"]);
    await hub.kill();
    for (const payload of ["2", "3"]) await bus.publish("n", payload);
    await prune(directory.path, { keep: 1 });
    await hub.restart();
    await says(page, "#notice-text", /^Events are missing, the last from \d\d:\d\d:\d\d\.\d{3}: they were removed/);
    await tailIs(page, ["n 3", "n 1"]);
  });

  await t.step("a hub that asks for a token gets one, which lasts as long as the tab", async () => {
    using directory = temporaryDirectory();
    const tokens = `${directory.path}/tokens`;
    await Deno.writeTextFile(tokens, "s3cret ana\nl1mited bob sub=color.> pub=color.>\n");
    const { hub, url } = await startHub("--listen", "127.0.0.1:0", "--tokens", tokens, "mem:");
    await using _ = hub;
    await using tabs = await Tabs.of(browser, url);
    const page = await tabs.open();
    await says(page, "#token-reason", "This hub asks for a token.");
    const enter = async (token: string) => {
      await page.getByLabel("Token", { exact: true }).fill(token);
      await page.getByLabel("Token", { exact: true }).press("Enter");
    };
    await enter("two words");
    await says(page, "#token-reason", /^A browser can only send/);
    await enter("wrong");
    await says(page, "#token-reason", "The hub does not take this token.");
    await enter("s3cret");
    await connected(page);
    assert(await page.locator("#token-form").isHidden());
    await page.locator("#publish-topic").fill("color.wall");
    await page.locator("#publish-button").click();
    await tailIs(page, ["color.wall "]);
    await page.reload();
    await connected(page);
    assert(await page.locator("#token-form").isHidden());

    await page.evaluate(() => sessionStorage.clear());
    await page.reload();
    await says(page, "#token-reason", "This hub asks for a token.");
    await enter("l1mited");
    await says(page, "#notice-text", /^The hub refuses: bob may not subscribe to ">"/);
    await page.getByLabel("Filter", { exact: true }).fill("color.>");
    await page.locator("#publish-topic").fill("color.floor");
    await page.locator("#publish-button").click();
    await tailIs(page, ["color.floor "]);
    await page.locator("#publish-topic").fill("shape");
    await page.locator("#publish-button").click();
    await says(page, "#publish-outcome", 'bob may not publish "shape"');
  });

  await t.step("nothing is wider than a phone", async () => {
    const { hub, url } = await startHub("--listen", "127.0.0.1:0", "mem:");
    await using _ = hub;
    await using tabs = await Tabs.of(browser, url, 360);
    const page = await tabs.openConnected();
    assert.equal(await overflow(page), 0);
    await publish(url, "a".repeat(190), "word".repeat(500));
    await publish(url, "json", JSON.stringify({ ["key".repeat(100)]: "x".repeat(1000) }));
    await page.locator("#tail > li").nth(1).waitFor();
    for (const row of await page.locator(".event").all()) await row.click();
    await page.getByLabel("Filter", { exact: true }).fill(`${"a".repeat(100)}..b`);
    await says(page, "#filter-reason", /empty segment/);
    await page.locator("#publish-topic").fill("__".repeat(90));
    await page.locator("#publish-button").click();
    await says(page, "#publish-outcome", /reserved/);
    assert(await overflow(page) <= 0);
    for (const id of ["tail-scroller", "topics-scroller"]) {
      const { width, height } = (await page.locator(`#${id}`).boundingBox())!;
      assert(width <= 360 && height <= 400, `${id} is ${width} × ${height}`);
    }
  });

  await t.step("everything can be reached, and an event published, by keyboard alone", async () => {
    const { hub, url } = await startHub("--listen", "127.0.0.1:0", "mem:");
    await using _ = hub;
    await using tabs = await Tabs.of(browser, url);
    const page = await tabs.openConnected();
    const { keyboard } = page;
    const focused = () => page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent || "");
    const tabTo = async (id: string) => {
      const passed: string[] = [];
      while (await focused() !== id) {
        await keyboard.press("Tab");
        passed.push(await focused());
        assert(passed.length < 30, `${id} is not among ${passed}`);
        const outline = await page.evaluate(() => {
          const focus = document.activeElement!;
          // After the last of the page's own comes the browser.
          if (focus === document.body) return "solid";
          const seen = focus.matches("input[type=radio]") ? focus.nextElementSibling! : focus;
          return getComputedStyle(seen).outlineStyle;
        });
        assert.equal(outline, "solid", `the focus on ${await focused()} is not seen`);
      }
    };
    await tabTo("publish-topic");
    await keyboard.type("color");
    await tabTo("publish-payload");
    await keyboard.type("red");
    await tabTo("publish-button");
    await keyboard.press("Enter");
    await says(page, "#publish-outcome", /^Published/);
    await keyboard.press("Shift+Tab");
    await keyboard.type("dish");
    await keyboard.press("Control+Enter");
    await tailIs(page, ["color reddish", "color red"]);

    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await tabTo("tail-scroller");
    await keyboard.press("ArrowDown");
    await keyboard.press("ArrowDown");
    await keyboard.press("Enter");
    assert.equal(await page.locator('.event[aria-expanded="true"] .payload').textContent(), "red");
    await says(page, "#tail-state", /^Paused/);
    await keyboard.press("Home");
    await keyboard.press("ArrowUp");
    assert.equal(await focused(), "tail-scroller");
  });
});
