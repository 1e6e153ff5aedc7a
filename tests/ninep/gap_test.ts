/** What readers of `event` are told of events that have been removed, and what becomes of that on a bus that is elsewhere. */
import assert from "node:assert/strict";
import { markOf } from "../../lib/bus/directory/order.ts";
import { prune } from "../../lib/bus/directory/prune.ts";
import { ORDWR } from "../../lib/ninep/message.ts";
import { parseGap } from "../../lib/ninep/tree/refusal.ts";
import { DirectoryBus, GapError, NinepBus, type SubscribeOptions } from "../../mod.ts";
import { make, nameAt } from "../bus/directory/bus_files.ts";
import { textsOf } from "../bus/reading.ts";
import { within } from "../deadline.ts";
import { temporaryDirectory } from "../temporary.ts";
import { Conversation, parseMessage, serve } from "./transcript.ts";

const names = Array.from({ length: 6 }, (_, i) => nameAt(i));
const encoder = new TextEncoder();

/** A bus in a directory of which the first four events have been removed. */
async function pruned(path: string): Promise<DirectoryBus> {
  make(path, names, "x");
  await prune(path, { keep: 2 });
  return new DirectoryBus(path);
}

Deno.test("9P: after=ID, where events after it are gone: one read says so, and the next goes on", async () => {
  using directory = temporaryDirectory();
  await using server = await serve(await pruned(directory.path));
  using conversation = await Conversation.with(server.path);
  await conversation.ask(parseMessage('Tversion tag NOTAG msize 8192 version "9P2000.u"'));
  await conversation.ask(parseMessage('Tattach tag 1 fid 0 afid NOFID uname "glenda" aname "" n_uname 0'));
  await conversation.ask({ type: "Twalk", tag: 1, fid: 0, newfid: 1, wname: ["event"] });
  await conversation.ask({ type: "Topen", tag: 1, fid: 1, mode: ORDWR });
  const read = () => conversation.ask({ type: "Tread", tag: 1, fid: 1, offset: 0n, count: 4096 });
  for (const [request, after] of [[`n after=${names[1]}`, names[1]], ['n after=""', undefined]] as const) {
    await conversation.ask({ type: "Twrite", tag: 1, fid: 1, offset: 0n, data: encoder.encode(request) });
    const gap = await read();
    assert(gap?.type === "Rerror" && "errno" in gap);
    assert.equal(gap.errno, 32);
    assert.match(gap.ename, /^events are gone: \{/);
    assert.deepEqual(parseGap(gap.ename), { after, until: markOf(names[3]) });
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(await read(), { type: "Rread", tag: 1, data: encoder.encode("n x\n") });
    }
  }
  for (const request of [`after=${names[3]}`, "replay=all", "replay=5"]) {
    await conversation.ask({ type: "Twrite", tag: 1, fid: 1, offset: 0n, data: encoder.encode(request) });
    assert.equal((await read())?.type, "Rread", request);
  }
});

Deno.test("a bus at a 9P server tells of a gap as its directory does, and of none that is known", async () => {
  using directory = temporaryDirectory();
  await using server = await serve(await pruned(directory.path));
  await using bus = new NinepBus(`unix:${server.path}`);
  const cases: [from: SubscribeOptions["from"], after: string | undefined | null][] = [
    [{ after: names[1] }, names[1]],
    [{ after: undefined, seen: [] }, undefined],
    [{ after: undefined, seen: [markOf(names[0])] }, undefined],
    [{ after: names[3] }, null],
    ["start", null],
    [{ after: undefined, seen: names.slice(0, 4).map(markOf) }, null],
    [{ after: markOf(names[1]), seen: [], gone: markOf(names[3]) }, null],
    // Who began with the fifth has missed nothing that had gone before.
    [{ after: undefined, seen: [markOf(names[4])] }, null],
  ];
  for (const [from, after] of cases) {
    await using events = bus.subscribe("n", { from });
    if (after !== null) {
      const expected = new GapError(`unix:${server.path}`, { after, until: markOf(names[3]) });
      await assert.rejects(within(events.next(), "the gap"), expected, JSON.stringify(from));
    }
    const seen = typeof from === "object" && "seen" in from ? from.seen.map(({ id }) => id) : [];
    const left = names.slice(4).filter((name) => !seen.includes(name));
    assert.deepEqual(await textsOf(events, left.length), left.map(() => "x"), JSON.stringify(from));
  }
});
