/**
 * What goes on in the demo: a shop, a chat, agents at work, sensors and a build, all made up. Each is one of a few that do the
 * same thing over and over, at a pace that goes up and down.
 *
 * @module
 */

/** Publishes an event; a payload that is no text becomes its JSON. */
export type Publish = (topic: string, payload: unknown) => Promise<unknown>;

/**
 * Lets all of it happen.
 *
 * @param publish where the events go
 * @returns a promise that never resolves, and is rejected by what could not be published
 */
export async function perform(publish: Publish): Promise<never> {
  await Promise.all([
    ...Array.from({ length: 8 }, () => customer(publish)),
    ...["conv-123", "conv-204", "conv-311"].map((id) => conversation(publish, id)),
    ...["a81f", "c20e", "77d1"].map((id) => session(publish, id)),
    sensor(publish, "hall-1", 19.5),
    sensor(publish, "hall-2", 22),
    builds(publish),
  ]);
  throw new Error("what never ends has ended");
}

async function customer(publish: Publish): Promise<never> {
  for (;;) {
    await pause(3000);
    const order = `o-${10_000 + below(90_000)}`;
    const total = (500 + below(9000)) / 100;
    await publish("order.created", { order, items: 1 + below(5), total, currency: "EUR" });
    await pause(900);
    if (below(12) === 0) {
      await publish("payment.failed", { order, reason: oneOf("card expired", "limit reached") });
      continue;
    }
    await publish("payment.settled", { order, provider: oneOf("card", "transfer"), ms: 80 + below(200) });
    await pause(2500);
    await publish("order.shipped", { order, parcels: 1 + below(2) });
  }
}

async function conversation(publish: Publish, id: string): Promise<never> {
  for (;;) {
    for (
      const [from, text] of [
        ["ana", "Is the new release out?"],
        ["ben", "The build is running."],
        ["ana", "Ping me when it is done?"],
        ["ben", "Will do."],
        ["chi", "I can look at the logs."],
        ["ben", "All green!"],
        ["ana", "Thank you both."],
      ]
    ) {
      await pause(2200);
      await publish(`message.sent:${id}`, { from, text });
    }
  }
}

async function session(publish: Publish, id: string): Promise<never> {
  for (let step = 1;; step++) {
    await publish(`session.${id}.state`, "planning");
    await pause(1500);
    await publish(`session.${id}.state`, "working");
    for (let agent = 0; agent < 3; agent++) {
      await publish(`session.${id}.agent.${agent}.state`, { state: oneOf("reading", "writing", "testing"), step });
      await pause(900);
    }
    await publish(`session.${id}.state`, "idle");
    await pause(3000);
  }
}

async function sensor(publish: Publish, place: string, celsius: number): Promise<never> {
  for (let now = celsius;;) {
    await pause(1100);
    // It drifts, but not far.
    now += (Math.random() - 0.5) / 2 + (celsius - now) / 20;
    await publish(`sensor.${place}.temperature`, now.toFixed(1));
  }
}

async function builds(publish: Publish): Promise<never> {
  for (;;) {
    for (const line of ["compiling 118 files", "running 94 tests", "ok | 94 passed | 0 failed (12s)", "uploading"]) {
      await publish("build.main.log", line);
      await pause(1600);
    }
    await publish("deploy.staging", { version: `2.${below(40)}.0`, ok: true });
    await pause(6000);
  }
}

/** Waits for about so many milliseconds: longer when little is going on, and less every minute, when there is a rush. */
async function pause(milliseconds: number): Promise<void> {
  const seconds = Date.now() / 1000;
  const pace = 1 + Math.sin(seconds / 9) / 2 + (seconds % 60 < 6 ? 1.5 : 0);
  const delay = milliseconds * (0.5 + Math.random()) / pace;
  await new Promise((resolve) => setTimeout(resolve, delay));
}

function below(limit: number): number {
  return Math.floor(Math.random() * limit);
}

function oneOf(...choices: readonly string[]): string {
  return choices[below(choices.length)];
}
