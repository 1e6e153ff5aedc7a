/** The connection that stays up, against a hub that does its worst. */
import assert from "node:assert/strict";
import { BusError } from "../../mod.ts";
import { HubClient, type HubClientOptions } from "../../lib/hub/client.ts";
import { parseHubAddress } from "../../lib/hub/client/address.ts";
import { Trail } from "../../lib/hub/client/trail.ts";
import { within } from "../deadline.ts";
import { eventOf, ScriptedHub, timeOf } from "./scripted_hub.ts";

/** A client that writes down what it is told, one line each. */
class Recorder implements AsyncDisposable {
  readonly client: HubClient;
  readonly told: string[] = [];
  #waiting: (() => void) | undefined;

  constructor(url: string, options: HubClientOptions = {}) {
    const tell = (line: string) => {
      this.told.push(line);
      this.#waiting?.();
    };
    this.client = new HubClient(parseHubAddress(url), {
      event: (topic, { payload }) => tell(`${topic} ${JSON.stringify(payload)}`),
      opened: () => tell("opened"),
      ended: ({ reason }) => tell(`ended: ${reason}`),
      refused: (filters, reason) => tell(`refused ${filters}: ${reason}`),
      missed: (reason) => tell(`missed: ${reason}`),
      error: (reason) => tell(`error: ${reason}`),
    }, { ...options, timing: { retryMs: 1, ...options.timing } });
  }

  /** Waits until a line has come that begins so. */
  async until(line: string): Promise<void> {
    while (!this.told.some((told) => told.startsWith(line))) {
      await within(new Promise<void>((resolve) => this.#waiting = resolve), line);
    }
  }

  /** The events that have come. */
  get events(): string[] {
    return this.told.filter((line) => /^\S+ \S+$/.test(line));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
  }
}

function envelope(payload: unknown): string {
  return JSON.stringify({ type: "n", id: "", payload });
}

Deno.test("a client offers to take batches, and shows its token", async () => {
  await using hub = new ScriptedHub();
  await using _plain = new Recorder(hub.url);
  assert.deepEqual((await hub.next()).protocols, ["ollie.batch.v1"]);
  await using _token = new Recorder(hub.url.replace("//", "//:s3cr.et~@"));
  assert.deepEqual((await hub.next()).protocols, ["ollie.batch.v1", "ollie.token.s3cr.et~"]);
});

Deno.test("an address that is none is refused in words, and without its token", () => {
  for (
    const [address, message] of [
      ["http://a", /"http:\/\/a" is not a hub's address: it begins with something else; it would be ws:/],
      ["ws://a:99999", /it is not a URL/],
      ["ws://:secret@a:99999", /"ws:\/\/a:99999" is not/],
      ["ws://", /it is not a URL/],
      ["ws://a#b", /has no #/],
      ["ws://secret@a", /a hub knows no user names/],
      ["ws://:sec%20ret@a", /the token for ws:\/\/a\/ cannot be sent/],
    ] as const
  ) {
    assert.throws(
      () => parseHubAddress(address),
      (error) => error instanceof BusError && message.test(error.message) && !/sec.{0,3}ret/.test(error.message),
      address,
    );
  }
  assert.throws(() => parseHubAddress("ws://a", ""), /not be empty/);
  assert.deepEqual(parseHubAddress("wss://:a%2Bb%25@h/x?y"), { url: "wss://h/x?y", token: "a+b%" });
  assert.deepEqual(parseHubAddress("ws://:sec%ret@a").token, "sec%ret");
});

Deno.test("filters that are added in one turn are asked for together, and those that come meanwhile in the next list", async () => {
  await using hub = new ScriptedHub();
  await using recorder = new Recorder(hub.url);
  const { client } = recorder;
  const peer = await hub.next();
  client.add("a");
  client.add("b");
  client.add("a");
  const first = await peer.expect("__subscribe");
  assert.deepEqual(first.payload, { topic: ["a", "b"], replay: 0 });
  client.add("c");
  await Promise.resolve();
  client.add("d");
  client.remove("b");
  const settled = client.settled();
  peer.subscribed(first.payload, "7");
  assert.deepEqual((await peer.next()).payload, { topic: ["b"] });
  const second = await peer.expect("__subscribe");
  assert.deepEqual(second.payload, { topic: ["c", "d"], replay: 0 });
  peer.subscribed(second.payload, "8");
  await within(settled, "the filters in force");
  client.remove("a");
  client.remove("c");
  const dropped = await peer.expect("__unsubscribe");
  assert.deepEqual(dropped.payload, { topic: ["a", "c"] });
  client.remove("d");
  client.add("d");
  client.add("e");
  assert.deepEqual(await peer.accept("9"), { topic: ["e"], replay: 0 });
});

Deno.test("after the connection has ended, all is asked for in one list, from where it was, and nothing comes twice", async () => {
  await using hub = new ScriptedHub();
  await using recorder = new Recorder(hub.url);
  const { client } = recorder;
  client.add("n");
  const first = await hub.next();
  await first.accept("0", timeOf(0));
  client.add("m.*");
  await first.accept("0", timeOf(0));
  first.events(1, 2, 3);
  first.events(10, 11, 12);
  await recorder.until("n 12");
  first.close(1001, "the hub is ending");
  client.add("new");
  const second = await hub.next();
  const again = await second.expect("__subscribe");
  // The last that is more than five seconds older than the newest.
  assert.deepEqual(again.payload, { topic: ["n", "m.*"], after: "3" });
  // One that came late, and those that came since.
  second.events(9, 10, 11, 12, 13);
  second.subscribed(again.payload, "13", timeOf(13));
  assert.deepEqual(await second.accept("13", timeOf(13)), { topic: ["new"], replay: 0 });
  second.events(14);
  await recorder.until("n 14");
  assert.deepEqual(recorder.events, [1, 2, 3, 10, 11, 12, 9, 13, 14].map((n) => `n ${n}`));
  // Asked for a third time, all of them are old acquaintances.
  second.close();
  const third = await hub.next();
  assert.deepEqual(await third.accept("14"), { topic: ["n", "m.*", "new"], after: "3" });
});

Deno.test("before anything has come, it goes on from where it subscribed", async () => {
  for (
    const [at, beginning, missed] of [
      ["7", { after: "7" }, false],
      [null, { after: null }, false],
      [undefined, { replay: 0 }, true],
    ] as const
  ) {
    await using hub = new ScriptedHub();
    await using recorder = new Recorder(hub.url);
    recorder.client.add("n");
    const first = await hub.next();
    await first.accept(at);
    await within(recorder.client.settled(), "the filter in force");
    first.close();
    const second = await hub.next();
    assert.deepEqual(await second.accept(at), { topic: ["n"], ...beginning });
    if (missed) await recorder.until("missed: its hub did not tell where it was");
    second.events(8);
    await recorder.until("n 8");
    assert.equal(recorder.told.some((line) => line.startsWith("missed")), missed);
  }
});

Deno.test("where the past is not to be had, it begins anew and says that events may have been missed", async () => {
  await using hub = new ScriptedHub();
  await using recorder = new Recorder(hub.url);
  recorder.client.add("n");
  const first = await hub.next();
  await first.accept();
  first.events(1, 2);
  await recorder.until("n 2");
  first.close();
  const second = await hub.next();
  assert.deepEqual(await second.refuse("this bus keeps no events"), { topic: ["n"], after: "1" });
  assert.deepEqual(await second.accept(), { topic: ["n"], replay: 0 });
  // The same ids again: such a bus begins to count anew when it is restarted.
  second.events(1, 2);
  await recorder.until("missed");
  await within(new Promise<void>((resolve) => recorder.client.settled().then(resolve)), "the filter in force");
  second.events(3);
  await recorder.until("n 3");
  assert.deepEqual(recorder.told.slice(-4), ["missed: this bus keeps no events", "n 1", "n 2", "n 3"]);
});

Deno.test("a filter that was added to others gets nothing from before, even if those go back further", async () => {
  await using hub = new ScriptedHub();
  await using recorder = new Recorder(hub.url);
  recorder.client.add("a");
  const first = await hub.next();
  await first.accept("0", timeOf(0));
  recorder.client.add("*.b");
  await first.accept("2", timeOf(2));
  await within(recorder.client.settled(), "the filters in force");
  first.close();
  const second = await hub.next();
  const again = await second.expect("__subscribe");
  assert.deepEqual(again.payload, { topic: ["a", "*.b"], after: "0" });
  second.send(eventOf("x.b", 1), eventOf("a", 1.5), eventOf("x.b", 2), eventOf("x.b", 3));
  second.subscribed(again.payload, "3", timeOf(3));
  second.send(eventOf("x.b", 4));
  await recorder.until("x.b 4");
  assert.deepEqual(recorder.events, ["a 1.5", "x.b 3", "x.b 4"]);
});

Deno.test("of a list that is refused because of one filter, the others are asked for again", async () => {
  await using hub = new ScriptedHub();
  await using recorder = new Recorder(hub.url);
  for (const filter of ["a", "secret", "b"]) recorder.client.add(filter);
  const settled = recorder.client.settled().catch((error) => error);
  const first = await hub.next();
  await first.refuse("you may not", "secret");
  assert.deepEqual(await first.accept("1"), { topic: ["a", "b"], replay: 0 });
  await recorder.until("refused secret: you may not");
  assert.match((await settled).message, /^ws:.*: you may not$/);
  recorder.client.remove("secret");
  await within(recorder.client.settled(), "the filters in force");
  // What was refused is asked for again on the next connection, but not together with what was in force.
  recorder.client.add("secret");
  await first.refuse("still not");
  await recorder.until("refused secret: still not");
  first.close();
  const second = await hub.next();
  assert.deepEqual(await second.accept("1"), { topic: ["a", "b"], after: "1" });
  assert.deepEqual(await second.accept("1"), { topic: ["secret"], replay: 0 });
});

Deno.test("a hub that can no longer serve what is in force is left, and asked again", async () => {
  await using hub = new ScriptedHub();
  await using recorder = new Recorder(hub.url);
  recorder.client.add("n");
  const first = await hub.next();
  await first.accept("1");
  first.send({ type: "__error", payload: { reason: "cannot read the event 5" } });
  await recorder.until("error: cannot read the event 5");
  first.send({ type: "__error", payload: { reason: "the disk is gone", topic: ["n"] } });
  await recorder.until("ended: the disk is gone");
  assert.deepEqual(await (await hub.next()).accept("1"), { topic: ["n"], after: "1" });
});

Deno.test("a hub that is silent is asked whether it is there, and left if it does not say so", async () => {
  await using hub = new ScriptedHub();
  await using recorder = new Recorder(hub.url, { timing: { idleMs: 20, answerMs: 1000 } });
  const first = await hub.next();
  await first.expect("__ping");
  first.send({ type: "__pong", payload: null });
  await first.expect("__ping");
  // No answer this time.
  const second = await hub.next();
  await second.expect("__ping");
  assert.match(recorder.told[1], /^ended: nothing has come from it for \d+ ms$/);
});

Deno.test("a hub that accepts connections and does no more is given up, and tried again", async () => {
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await using recorder = new Recorder(`ws://127.0.0.1:${silent.addr.port}`, { timing: { connectMs: 50 } });
  using _first = await silent.accept();
  using _second = await within(silent.accept(), "another attempt");
  assert.deepEqual(recorder.told[0], "ended: it did not answer within 50 ms");
});

Deno.test("what is no hub is left, and said to be none", async () => {
  for (
    const [frame, reason] of [
      ["hello", "ended: it sent what is no envelope: it is no hub"],
      ["[]", "ended: it sent what is no envelope: it is no hub"],
      ['{"type":"n","id":5}', "ended: it sent what is no envelope: it is no hub"],
      ['{"type":"n","at":5}', "ended: it sent what is no envelope: it is no hub"],
      ['{"type":"a:b","id":"c"}', "ended: it sent what is no event: "],
      [Uint8Array.of(123, 125), "ended: it sent a frame that is not text: it is no hub"],
    ] as const
  ) {
    await using hub = new ScriptedHub();
    await using recorder = new Recorder(hub.url);
    const first = await hub.next();
    first.raw(frame);
    await recorder.until(reason);
    await within(first.closed, "the end of the connection");
    await hub.next();
  }
});

Deno.test("attempts become rarer, and frequent again once the hub has said something", async () => {
  const attempts: number[] = [];
  let refused = true;
  await using hub = new ScriptedHub({
    refuse: () => {
      attempts.push(performance.now());
      return refused ? new Response("no", { status: 503 }) : undefined;
    },
  });
  const timing = { retryMs: 4, maxRetryMs: 64 };
  await using recorder = new Recorder(hub.url, { timing });
  recorder.client.add("n");
  while (attempts.length < 9) await new Promise((resolve) => setTimeout(resolve, 1));
  // Timers are never early: after the first few, each wait is half of the longest at least.
  for (let i = 6; i < 9; i++) assert(attempts[i] - attempts[i - 1] >= 31, `${attempts}`);
  refused = false;
  await (await hub.next()).accept("1");
  await within(recorder.client.settled(), "the filter in force");
});

Deno.test("what is published is sent in order, and done when the hub says so", async () => {
  await using hub = new ScriptedHub();
  await using recorder = new Recorder(hub.url);
  const { client } = recorder;
  const early = client.publish("n", envelope("early"));
  const peer = await hub.next();
  const published = [1, 2, 3].map((n) => client.publish("n", envelope(n)));
  const frames = [];
  for (let i = 0; i < 4; i++) frames.push(await peer.next());
  assert.deepEqual(frames.map(({ payload }) => payload), ["early", 1, 2, 3]);
  const [zero, one, two, three] = frames.map(({ ref }) => ref);
  published[1].catch(() => {});
  peer.send(
    { type: "__published", payload: { ref: two, at: "20", time: timeOf(2) } },
    { type: "__error", payload: { ref: one, reason: "the disk is full", topic: "n" } },
    { type: "__published", payload: { ref: 99, at: "99" } },
    { type: "__published", payload: { ref: zero, at: "0", time: timeOf(0) } },
    { type: "__published", payload: { ref: three, at: "30", time: timeOf(3) } },
  );
  assert.deepEqual(await early, { id: "0", time: timeOf(0) });
  await assert.rejects(published[0], /^BusError: ws:.*: the disk is full$/);
  assert.deepEqual(await published[1], { id: "20", time: timeOf(2) });
  assert.deepEqual(await published[2], { id: "30", time: timeOf(3) });
});

Deno.test("what was not acknowledged when the connection ended is sent again, before what came after", async () => {
  await using hub = new ScriptedHub();
  await using recorder = new Recorder(hub.url);
  const { client } = recorder;
  const first = await hub.next();
  const published = [1, 2, 3].map((n) => client.publish("n", envelope(n)));
  assert.equal(await first.publish("10"), 1);
  await first.next();
  await first.next();
  await published[0];
  first.close();
  await recorder.until("ended");
  published.push(client.publish("n", envelope(4)));
  const second = await hub.next();
  for (const n of [2, 3, 4]) assert.equal(await second.publish(`${n}0`), n);
  assert.deepEqual((await Promise.all(published)).map(({ id }) => id), ["10", "20", "30", "40"]);
});

Deno.test("who subscribes and then publishes has subscribed when the event comes to the hub", async () => {
  await using hub = new ScriptedHub();
  await using recorder = new Recorder(hub.url);
  const { client } = recorder;
  const peer = await hub.next();
  await recorder.until("opened");
  client.add("a");
  const published = [client.publish("n", envelope(1))];
  await peer.accept("1");
  assert.equal(await peer.publish(), 1);
  // While one `__subscribe` is under way, another has to wait, and with it what is published after it.
  client.add("b");
  const { payload } = await peer.expect("__subscribe");
  published.push(client.publish("n", envelope(2)));
  assert.equal(await peer.publish(), 2);
  client.add("c");
  published.push(client.publish("n", envelope(3)));
  peer.subscribed(payload, "1");
  await peer.accept("1");
  assert.equal(await peer.publish(), 3);
  await Promise.all(published);
});

Deno.test("what waits is bounded, and what is on its way is", async () => {
  await using hub = new ScriptedHub();
  await using recorder = new Recorder(hub.url, { maxQueueBytes: 2_000_000 });
  const { client } = recorder;
  const text = "x".repeat(10_000);
  const published = [];
  for (;;) {
    try {
      published.push(client.publish("n", envelope(text)));
    } catch (error) {
      assert(error instanceof BusError);
      assert.match(
        error.message,
        /^there is no room for the event "n": 199 events \(199\d{4} bytes\) wait for ws:.*2000000/,
      );
      break;
    }
  }
  assert.equal(published.length, 199);
  const small = client.publish("n", envelope("small"));
  assert.throws(
    () => client.publish("n", envelope("x".repeat(2_000_000))),
    /^RefusedEventError: the event "n" is 2000\d+ bytes long/,
  );
  const peer = await hub.next();
  const frames = [];
  // What fits in 256 KiB, and not one more until an answer has come.
  for (let i = 0; i < 26; i++) frames.push(await peer.next());
  client.add("a");
  await peer.accept("1");
  await within(client.settled(), "an answer, which would have come after more frames");
  assert.equal(peer.waiting, 0);
  peer.send({ type: "__published", payload: { ref: frames[0].ref, at: "1" } });
  frames.push(await peer.next());
  for (const { ref } of frames.slice(1)) peer.send({ type: "__published", payload: { ref, at: "1" } });
  for (let i = frames.length; i < 200; i++) await peer.publish();
  await Promise.all([...published, small]);
  // There is room again.
  const again = client.publish("n", envelope(text));
  await peer.publish("5");
  assert.equal((await again).id, "5");
});

Deno.test("an event that is too large for what lies between ends no connection for ever", async () => {
  await using hub = new ScriptedHub();
  await using recorder = new Recorder(hub.url);
  const { client } = recorder;
  const first = await hub.next();
  const published = ["a", "large", "b"].map((payload) => client.publish("n", envelope(payload)));
  published[1].catch(() => {});
  await first.next();
  first.close(1009);
  const second = await hub.next();
  assert.equal(await second.publish(), "a");
  assert.equal((await second.next()).payload, "large");
  second.close(1009);
  const third = await hub.next();
  assert.equal(await third.publish(), "b");
  await Promise.all([published[0], published[2]]);
  await assert.rejects(published[1], /takes no event as large as this one: "n"/);
});

Deno.test("closing sends what waits, and is final", async () => {
  await using hub = new ScriptedHub();
  await using recorder = new Recorder(hub.url);
  const { client } = recorder;
  client.add("n");
  const peer = await hub.next();
  await peer.accept("1");
  await within(client.settled(), "the filter in force");
  const published = client.publish("n", envelope("last"));
  client.add("never asked for");
  const settled = client.settled();
  const closed = client.close();
  assert.throws(() => client.publish("n", envelope("later")), /was closed/);
  await assert.rejects(client.settled(), /was closed/);
  await assert.rejects(settled, /was closed/);
  peer.events(5);
  assert.equal(await peer.publish("2"), "last");
  await published;
  await within(closed, "the end");
  await within(peer.closed, "the end of the connection");
  assert.deepEqual(recorder.told, ["opened"]);
  assert.equal(hub.size, 0);
});

Deno.test("closing does not wait for ever for a hub that does not answer", async () => {
  await using hub = new ScriptedHub();
  const recorder = new Recorder(hub.url, { timing: { drainMs: 20 } });
  const published = recorder.client.publish("n", envelope("never acknowledged"));
  const peer = await hub.next();
  await peer.next();
  const closed = recorder.client.close();
  await assert.rejects(published, /was closed/);
  await within(closed, "the end");
  // One that has nothing to send, and no connection either, has nothing to wait for.
  const lost = new Recorder("ws://127.0.0.1:1");
  await lost.until("ended");
  await within(lost.client.close(), "the end");
});

Deno.test("a trail leads back some seconds, and no further than it may", () => {
  const trail = new Trail();
  assert.equal(trail.resume(), undefined);
  const mark = (n: number) => ({ id: String(n).padStart(6, "0"), time: timeOf(n) });
  assert(trail.note(mark(1), 1));
  assert(!trail.note(mark(1), 1));
  assert.deepEqual(trail.resume(), { after: "000001" });
  for (const n of [2, 3, 9]) trail.note(mark(n), 1);
  assert.deepEqual(trail.resume(), { after: "000003" });
  assert(!trail.note(mark(9), 1));
  // A clock that is an hour ahead takes nothing with it.
  trail.note(mark(3600), 1);
  assert.deepEqual(trail.resume(Date.parse(timeOf(10).slice(0, 19) + "Z")), { after: "000003" });
  assert(!trail.note(mark(9), 1));

  // So many within a second that not all can be remembered.
  const crowd = new Trail();
  crowd.begin(null);
  assert.deepEqual(crowd.resume(), { after: null });
  for (let n = 0; n < 10_000; n++) assert(crowd.note({ id: String(n).padStart(6, "0"), time: timeOf(0) }, 100));
  assert.deepEqual(crowd.resume(), { after: "007999" });
  for (let n = 8000; n < 10_000; n++) assert(!crowd.note({ id: String(n).padStart(6, "0"), time: timeOf(0) }, 100));

  // Or so large.
  const heavy = new Trail();
  heavy.begin(mark(0));
  for (let n = 1; n <= 100; n++) heavy.note({ id: String(n).padStart(6, "0"), time: timeOf(1) }, 1024 * 1024);
  assert.deepEqual(heavy.resume(), { after: "000096" });
  heavy.clear();
  assert.equal(heavy.resume(), undefined);
});
