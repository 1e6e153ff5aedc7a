/** What a transcript cannot show: the server's log, limits that take long to reach, and that others are not disturbed. */
import assert from "node:assert/strict";
import { BusError, MemoryBus, type Published } from "../../mod.ts";
import { event, ScriptedBus } from "./scripted.ts";
import { textOf } from "../../lib/format.ts";
import { ORDWR, OREAD, OWRITE } from "../../lib/ninep/message.ts";
import { formatMessage } from "../../lib/ninep/text.ts";
import { EventStream } from "../../lib/ninep/tree/event.ts";
import { until } from "../deadline.ts";
import { Conversation, parseMessage, serve, type Served } from "./transcript.ts";

async function attached(path: string, msize = 8192, version = "9P2000.u"): Promise<Conversation> {
  const conversation = await Conversation.with(path);
  await conversation.ask({ type: "Tversion", tag: 0xffff, msize, version });
  await conversation.ask(parseMessage('Tattach tag 1 fid 0 afid NOFID uname "glenda" aname ""'));
  return conversation;
}

async function open(conversation: Conversation, fid: number, name: string, mode: number): Promise<void> {
  await conversation.ask({ type: "Twalk", tag: 1, fid: 0, newfid: fid, wname: [name] });
  const reply = await conversation.ask({ type: "Topen", tag: 1, fid, mode });
  assert.equal(reply?.type, "Ropen");
}

/** Says one line of a transcript, and tells the answer as one. */
async function say(conversation: Conversation, line: string): Promise<string> {
  const reply = await conversation.ask(parseMessage(line));
  return reply === undefined ? "closed" : formatMessage(reply);
}

async function write(conversation: Conversation, fid: number, data: Uint8Array | string): Promise<string> {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  const reply = await conversation.ask({ type: "Twrite", tag: 1, fid, offset: 0n, data: bytes });
  return reply === undefined ? "closed" : formatMessage(reply);
}

/** Makes the bus refuse to publish, after so many events. */
function breakPublishing(served: Served, error: Error, after = 0): void {
  const publish = served.bus.publish.bind(served.bus);
  let left = after;
  served.bus.publish = (...event) => left-- > 0 ? publish(...event) : Promise.reject(error);
}

const BROKEN = {
  "07 00 00 00 63 01 00": "there is no message of type 99",
  "06 00 00 00 78 01": "a frame says that it has 6 bytes: it needs 7",
  "ff ff ff ff 78 01 00": "a frame says that it has 4294967295 bytes: 8192 are allowed",
  "47 45 54 20 2f 20 48": "that is HTTP, and not 9P",
  "16 03 01 02 00 01 00": "that is TLS, and not 9P",
  "0c 00 00 00 78 01 00 00 00 00 00 00": "1 bytes follow the fields of a Tclunk",
  "09 00 00 00 78 01 00 00 00": "a field of 4 bytes reaches beyond its frame, of which 2 are left",
  "11 00 00 00 6e 01 00 00 00 00 00 01 00 00 00 ff ff": "a list of 65535 reaches beyond its frame",
  "07 00 00 00 6d 01 00": "a client sent Rflush, which is for servers",
};

for (const [hex, reason] of Object.entries(BROKEN)) {
  Deno.test(`9P: broken framing is one line in the log, and nobody else's trouble: ${reason}`, async () => {
    await using served = serve();
    using other = await attached(served.path);
    await open(other, 1, "event", OREAD);
    using broken = await attached(served.path);
    await open(broken, 1, "event", OREAD);
    await broken.sendBytes(Uint8Array.from(hex.split(" "), (byte) => parseInt(byte, 16)));
    assert.equal(await broken.reply(), undefined);
    assert.deepEqual(served.log, [`connection 2: closed a connection: ${reason}`]);

    await served.bus.publish("color", "red");
    assert.equal(await say(other, "Tread tag 1 fid 1 offset 0 count 100"), 'Rread tag 1 data "color red\\n"');
    await open(other, 2, "stats", OREAD);
    assert.match(
      await say(other, "Tread tag 1 fid 2 offset 0 count 100"),
      /"connections 1\\nfids 3\\nsubscriptions 1\\n/,
    );
  });
}

Deno.test("9P: a client that hangs up is no line in the log, and what it had is gone", async () => {
  await using served = serve();
  {
    using conversation = await attached(served.path);
    await open(conversation, 1, "event", OREAD);
    await conversation.send(parseMessage("Tread tag 1 fid 1 offset 0 count 100"));
    // Half a message.
    await conversation.sendBytes(new Uint8Array([11, 0, 0, 0, 120]));
  }
  await until("the end of the connection", () => served.server.connections === 0);
  using other = await attached(served.path);
  await open(other, 1, "stats", OREAD);
  assert.match(
    await say(other, "Tread tag 1 fid 1 offset 0 count 100"),
    /"connections 1\\nfids 2\\nsubscriptions 0\\n/,
  );
  assert.deepEqual(served.log, []);
});

Deno.test("9P: after a version that is unknown, the fields are those of 9P2000", async () => {
  await using served = serve();
  using conversation = await attached(served.path);
  assert.equal(conversation.dialect, "9P2000.u");
  await conversation.ask({ type: "Tversion", tag: 0xffff, msize: 8192, version: "9P1" });
  conversation.dialect = "9P2000";
  assert.equal(
    await say(conversation, "Tstat tag 1 fid 0"),
    'Rerror tag 1 ename "no version is agreed on: send Tversion"',
  );
});

Deno.test("9P: a connection has so many fids and no more; a walk that stays takes none", async () => {
  await using served = serve("mem", { maxFids: 3 });
  using conversation = await attached(served.path);
  assert.equal(await say(conversation, "Twalk tag 1 fid 0 newfid 1 wname []"), "Rwalk tag 1 wqid []");
  assert.equal(await say(conversation, "Twalk tag 1 fid 0 newfid 2 wname []"), "Rwalk tag 1 wqid []");
  const refused = 'Rerror tag 1 ename "too many fids: a connection may have 3" errno 24';
  assert.equal(await say(conversation, "Twalk tag 1 fid 0 newfid 3 wname []"), refused);
  assert.equal(await say(conversation, 'Tattach tag 1 fid 3 afid NOFID uname "" aname ""'), refused);
  assert.equal(await say(conversation, 'Twalk tag 1 fid 1 newfid 1 wname ["pub"]'), "Rwalk tag 1 wqid [(3 0 -)]");
  assert.equal(await say(conversation, "Tclunk tag 1 fid 2"), "Rclunk tag 1");
  assert.equal(await say(conversation, "Twalk tag 1 fid 0 newfid 3 wname []"), "Rwalk tag 1 wqid []");
  using other = await attached(served.path);
  assert.equal(await say(other, "Twalk tag 1 fid 0 newfid 1 wname []"), "Rwalk tag 1 wqid []");
});

Deno.test("9P: when the server ends, what waits is told so", async () => {
  await using served = serve();
  using conversation = await attached(served.path);
  await open(conversation, 1, "event", OREAD);
  await conversation.send(
    parseMessage("Tread tag 1 fid 1 offset 0 count 100"),
    parseMessage("Tread tag 2 fid 1 offset 0 count 100"),
    parseMessage("Tstat tag 3 fid 9"),
  );
  assert.equal((await conversation.reply())?.tag, 3);
  const closed = served.server.close();
  const told = [await conversation.reply(), await conversation.reply()].map((reply) => formatMessage(reply!));
  assert.deepEqual(told, [
    'Rerror tag 1 ename "the server is ending" errno 5',
    'Rerror tag 2 ename "the server is ending" errno 5',
  ]);
  assert.equal(await conversation.reply(), undefined);
  await closed;
  assert.deepEqual(served.log, []);
});

Deno.test("9P: when the bus ends, a read says so", async () => {
  await using served = serve();
  using conversation = await attached(served.path);
  await open(conversation, 1, "event", OREAD);
  await served.bus[Symbol.asyncDispose]();
  assert.equal(
    await say(conversation, "Tread tag 1 fid 1 offset 0 count 100"),
    'Rerror tag 1 ename "the bus has ended" errno 32',
  );
});

Deno.test("9P: a reader that is too slow for a bus that keeps nothing is told so, after what it can still have", async () => {
  await using served = serve();
  using conversation = await attached(served.path, 1024 * 1024);
  await open(conversation, 1, "event", OREAD);
  const payload = new Uint8Array(6 * 1024 * 1024).fill(97);
  for (let i = 0; i < 4; i++) await served.bus.publish("color", payload);
  await served.bus.publish("color", "lost");
  let bytes = 0;
  for (;;) {
    const reply = await conversation.ask({ type: "Tread", tag: 1, fid: 1, offset: 0n, count: 1024 * 1024 });
    if (reply?.type !== "Rread") {
      assert.match(formatMessage(reply!), /^Rerror tag 1 ename "this subscriber read too slowly: .*" errno 105$/);
      break;
    }
    bytes += reply.data.length;
  }
  assert.equal(bytes, 2 * (payload.length + "color \n".length));
  // It begins anew with the next read.
  assert.equal(await say(conversation, "Tread tag 1 fid 1 offset 0 count 0"), 'Rread tag 1 data ""');
  await served.bus.publish("color", "again");
  assert.equal(await say(conversation, "Tread tag 1 fid 1 offset 0 count 100"), 'Rread tag 1 data "color again\\n"');
});

Deno.test("9P: a fault of the bus is an input/output error, and the log tells of it", async () => {
  await using served = serve();
  breakPublishing(served, new TypeError("a fault"));
  using conversation = await attached(served.path);
  await open(conversation, 1, "pub", OWRITE);
  assert.equal(await write(conversation, 1, "color red\n"), 'Rerror tag 1 ename "Input/output error" errno 5');
  assert.equal(served.log.length, 1);
  assert.match(served.log[0], /^connection 1: internal error: TypeError: a fault/);
  assert.equal(await write(conversation, 1, "color"), "Rwrite tag 1 count 5");
  assert.equal(await say(conversation, "Tclunk tag 1 fid 1"), 'Rerror tag 1 ename "Input/output error" errno 5');
});

Deno.test("9P: where a bus takes only some of the lines of a write, the error says how many", async () => {
  await using served = serve();
  breakPublishing(served, new BusError("the disk is full"), 2);
  using conversation = await attached(served.path);
  await open(conversation, 1, "pub", OWRITE);
  assert.equal(
    await write(conversation, 1, "a 1\na 2\na 3\n"),
    'Rerror tag 1 ename "published 2 of 3: the disk is full" errno 5',
  );
  assert.equal(await write(conversation, 1, "a 4\n"), 'Rerror tag 1 ename "the disk is full" errno 5');
  assert.deepEqual(served.log, []);
});

Deno.test("9P: pub.json takes no more while too much of what became of its events has not been read", async () => {
  await using served = serve();
  using conversation = await attached(served.path, 1024 * 1024);
  await open(conversation, 1, "pub.json", ORDWR);
  const lines = '{"topic":"a","payload":1}\n'.repeat(35_000);
  assert.equal(await write(conversation, 1, lines), `Rwrite tag 1 count ${lines.length}`);
  assert.equal(await write(conversation, 1, lines), `Rwrite tag 1 count ${lines.length}`);
  assert.equal(
    await write(conversation, 1, '{"topic":"a","payload":1}\n'),
    'Rerror tag 1 ename "read what became of the 70000 events before" errno 105',
  );
  for (let i = 0; i < 5_000; i++) await conversation.ask(parseMessage("Tread tag 1 fid 1 offset 0 count 100"));
  assert.equal(await write(conversation, 1, '{"topic":"a","payload":1}\n'), "Rwrite tag 1 count 26");
});

Deno.test("9P: a line has an end", async () => {
  await using served = serve();
  using conversation = await attached(served.path, 1024 * 1024);
  await open(conversation, 1, "pub", OWRITE);
  const mebibyte = new Uint8Array(1024 * 1024 - 64).fill(97);
  let answer;
  for (let i = 0; i < 100; i++) {
    answer = await write(conversation, 1, mebibyte);
    if (answer.startsWith("Rerror")) break;
  }
  assert.match(answer!, /^Rerror tag 1 ename "refused event: a line has more than 100663296 bytes" errno 27$/);
  assert.equal(await write(conversation, 1, "color red\n"), "Rwrite tag 1 count 10");
});

Deno.test("9P: while many lines of one write are published, others are served", async () => {
  let published = 0;
  await using served = serve(
    new ScriptedBus([], () => {
      published++;
      // Time passes, as it does where files are made.
      for (const end = performance.now() + 1; performance.now() < end;);
      return Promise.resolve({ id: `${published}`, time: "" });
    }),
  );
  using publisher = await attached(served.path, 1024 * 1024);
  await open(publisher, 1, "pub", OWRITE);
  using other = await attached(served.path);
  const data = new TextEncoder().encode("a\n".repeat(1000));
  const written = publisher.ask({ type: "Twrite", tag: 1, fid: 1, offset: 0n, data });
  await until("the first of them", () => published > 0);
  await other.ask(parseMessage("Tstat tag 1 fid 0"));
  assert(published < 1000, "the stat waited for the last line");
  assert.equal((await written)?.type, "Rwrite");
});

Deno.test("9P: a server that ends answers what is being written", async () => {
  const publishing = Promise.withResolvers<Published>();
  await using served = serve(new ScriptedBus([], () => publishing.promise));
  using conversation = await attached(served.path);
  await open(conversation, 1, "pub", OWRITE);
  const written = write(conversation, 1, "color red\n");
  // Whoever is answered by a second one knows that the first has been read.
  using other = await attached(served.path);
  await open(other, 1, "stats", OREAD);
  const closed = served.server.close();
  await new Promise((resolve) => setTimeout(resolve, 20));
  publishing.resolve({ id: "1", time: "" });
  assert.equal(await written, "Rwrite tag 1 count 10");
  await closed;
});

Deno.test("9P: after a write that failed, nothing of it is published with the next", async () => {
  const lines: string[] = [];
  await using served = serve(
    new ScriptedBus([], (topic, payload) => {
      lines.push(`${topic} ${new TextDecoder().decode(payload as Uint8Array)}`);
      if (lines.length === 1) return Promise.reject(new BusError("the disk is full"));
      return Promise.resolve({ id: `${lines.length}`, time: "" });
    }),
  );
  using conversation = await attached(served.path);
  await open(conversation, 1, "pub", OWRITE);
  assert.equal(await write(conversation, 1, "color red\ncolor gr"), 'Rerror tag 1 ename "the disk is full" errno 5');
  assert.equal(await write(conversation, 1, "color red\ncolor green\n"), "Rwrite tag 1 count 22");
  await say(conversation, "Tclunk tag 1 fid 1");
  assert.deepEqual(lines, ["color red", "color red", "color green"]);
});

Deno.test("9P: after a failure, a reader of the past goes on after the last event that it had", async () => {
  const bus = new ScriptedBus([[event("a"), event("b"), new BusError("broken")], [event("c")]]);
  await using served = serve(bus);
  using conversation = await attached(served.path);
  await open(conversation, 1, "event", ORDWR);
  await write(conversation, 1, "n replay=all");
  const read = () => say(conversation, "Tread tag 1 fid 1 offset 0 count 100");
  assert.equal(await read(), 'Rread tag 1 data "n a\\n"');
  assert.equal(await read(), 'Rread tag 1 data "n b\\n"');
  assert.equal(await read(), 'Rerror tag 1 ename "broken" errno 5');
  assert.equal(await read(), 'Rread tag 1 data "n c\\n"');
  assert.deepEqual(bus.asked, ["start", { after: "b" }]);
});

Deno.test("9P: a filter of half a million segments is refused, or comes and goes as any other", async () => {
  await using served = serve();
  using conversation = await attached(served.path, 1024 * 1024);
  await open(conversation, 1, "event", ORDWR);
  await write(conversation, 1, `${"a.".repeat(500_000)}a`);
  await conversation.ask(parseMessage("Tread tag 1 fid 1 offset 0 count 0"));
  assert.equal(await write(conversation, 1, "color"), "Rwrite tag 1 count 5");
  assert.deepEqual(served.log, []);
});

Deno.test("9P: no event of the old filter is read after the new one was written, whenever it came", async () => {
  for (let turns = 0; turns < 10; turns++) {
    await using bus = new MemoryBus();
    const counters = { subscriptions: 0, published: 0, delivered: 0, begunBytes: 0 };
    const how = { read: true, write: true, dialect: "9P2000", iounit: 100, copied: false } as const;
    const stream = await EventStream.open(bus, { record: textOf, check() {} }, how, counters);
    const answers: string[] = [];
    stream.read({
      offset: 0n,
      count: 100,
      room: () => undefined,
      answer: (data) => answers.push(new TextDecoder().decode(data)),
      fail: (error) => answers.push(String(error)),
    });
    await new Promise((resolve) => setTimeout(resolve, 0));
    bus.publish("old", "");
    for (let turn = 0; turn < turns; turn++) await undefined;
    const before = answers.length;
    stream.write({
      offset: 0n,
      data: new TextEncoder().encode("new"),
      done() {},
      fail: (error) => answers.push(String(error)),
    });
    await new Promise((resolve) => setTimeout(resolve, 0));
    assert.deepEqual(answers.slice(before), [], `with ${turns} turns between the event and the write`);
    stream.close();
  }
});
