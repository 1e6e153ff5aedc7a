/** `after=`, which takes an id: a transcript has no way to say what the server has said before. */
import assert from "node:assert/strict";
import { ORDWR } from "../../lib/ninep/message.ts";
import { Conversation, parseMessage, serve } from "./transcript.ts";

const encoder = new TextEncoder();

/** A conversation in which `event` is open as fid 1, and `event.json` as fid 2. */
async function opened(path: string): Promise<Conversation> {
  const conversation = await Conversation.with(path);
  await conversation.ask(parseMessage('Tversion tag NOTAG msize 8192 version "9P2000"'));
  await conversation.ask(parseMessage('Tattach tag 1 fid 0 afid NOFID uname "glenda" aname ""'));
  for (const [newfid, name] of [[1, "event"], [2, "event.json"]] as const) {
    await conversation.ask({ type: "Twalk", tag: 1, fid: 0, newfid, wname: [name] });
    const reply = await conversation.ask({ type: "Topen", tag: 1, fid: newfid, mode: ORDWR });
    assert.equal(reply?.type, "Ropen");
  }
  return conversation;
}

async function write(conversation: Conversation, fid: number, text: string): Promise<void> {
  const data = encoder.encode(text);
  const reply = await conversation.ask({ type: "Twrite", tag: 1, fid, offset: 0n, data });
  assert.deepEqual(reply, { type: "Rwrite", tag: 1, count: data.length });
}

async function read(conversation: Conversation, fid: number): Promise<string> {
  const reply = await conversation.ask({ type: "Tread", tag: 1, fid, offset: 0n, count: 4096 });
  assert(reply?.type === "Rread");
  return new TextDecoder().decode(reply.data);
}

Deno.test("9P: after=ID begins after the event of that id", async () => {
  await using served = serve("directory");
  for (const payload of ["1", "2", "3"]) await served.bus.publish("color", payload);
  using conversation = await opened(served.path);
  await write(conversation, 2, "color replay=2");
  const { id, payload } = JSON.parse(await read(conversation, 2));
  assert.equal(payload, 2);
  await served.bus.publish("number", "4");

  await write(conversation, 1, `color after=${id}`);
  assert.equal(await read(conversation, 1), "color 3\n");
  await write(conversation, 1, `after=${id}`);
  assert.equal(await read(conversation, 1), "color 3\n");
  assert.equal(await read(conversation, 1), "number 4\n");
  await served.bus.publish("color", "5");
  assert.equal(await read(conversation, 1), "color 5\n");
});

Deno.test("9P: after=ID in another conversation goes on where the first one ended", async () => {
  await using served = serve("directory");
  await served.bus.publish("color", "1");
  let id: string;
  {
    using conversation = await opened(served.path);
    await write(conversation, 2, "color replay=all");
    ({ id } = JSON.parse(await read(conversation, 2)));
  }
  await served.bus.publish("color", "2");
  using conversation = await opened(served.path);
  await write(conversation, 2, `color after=${id} payload=base64`);
  assert.equal(JSON.parse(await read(conversation, 2)).payload_base64, "Mg==");
});

Deno.test("9P: the id that pub.json tells is one to begin after", async () => {
  await using served = serve("directory");
  using conversation = await opened(served.path);
  await conversation.ask({ type: "Twalk", tag: 1, fid: 0, newfid: 3, wname: ["pub.json"] });
  await conversation.ask({ type: "Topen", tag: 1, fid: 3, mode: ORDWR });
  await write(conversation, 3, '{"topic":"color","payload":"red"}\n{"topic":"color","payload":"green"}\n');
  const { id } = JSON.parse(await read(conversation, 3));
  await write(conversation, 1, `after=${id}`);
  assert.equal(await read(conversation, 1), "color green\n");
});
