/**
 * The counterpart of go9p/server: a 9P server with one file, `event`, of which every read brings 100 bytes at once. Its
 * argument is the path of the socket.
 */
import type { File } from "../lib/ninep/file.ts";
import { listen } from "../lib/ninep/listen.ts";
import { DMDIR, QTDIR, QTFILE, type Stat } from "../lib/ninep/message.ts";
import { NinepServer } from "../lib/ninep/server.ts";

const data = new TextEncoder().encode(`${"x".repeat(99)}\n`);

function stat(name: string, type: number, mode: number): Stat {
  const qid = { type, version: 0, path: BigInt(type) };
  return { type: 0, dev: 0, qid, mode, atime: 0, mtime: 0, length: 0n, name, uid: "none", gid: "none", muid: "none" };
}

const event: File = {
  stat: stat("event", QTFILE, 0o444),
  open: () => ({
    read: (request) => request.answer(data.subarray(0, request.count)),
    write: (request) => request.fail(new Error("nobody opens it to write")),
    flush() {},
    close() {},
  }),
};
const root = { stat: stat("/", QTDIR, (DMDIR | 0o555) >>> 0), entries: new Map([["event", event]]) };
const server = new NinepServer(root, { log: console.error });
const listening = listen({ transport: "unix", path: Deno.args[0] });
console.log("listening");
for (let connection; (connection = await listening.accept()) !== undefined;) server.serve(connection);
