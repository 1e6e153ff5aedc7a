/** Messages for property tests, made from the same table that they are encoded by. */
import fc from "fast-check";
import { type Dialect, type Message, type MessageName, MESSAGES } from "../../lib/ninep/message.ts";

// Objects as the decoder makes them.
const PLAIN = { noNullPrototype: true } as const;
const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const u64 = fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn });
const text = fc.string({ unit: "grapheme", maxLength: 40 }).filter((text) => text.isWellFormed());
const qid = fc.record({ type: fc.integer({ min: 0, max: 255 }), version: u32, path: u64 }, PLAIN);

function stat(dialect: Dialect): fc.Arbitrary<object> {
  return fc.record({
    type: fc.integer({ min: 0, max: 0xffff }),
    dev: u32,
    qid,
    mode: u32,
    atime: u32,
    mtime: u32,
    length: u64,
    name: text,
    uid: text,
    gid: text,
    muid: text,
    ...(dialect === "9P2000.u" ? { extension: text, n_uid: u32, n_gid: u32, n_muid: u32 } : {}),
  }, PLAIN);
}

function kind(name: string, dialect: Dialect): fc.Arbitrary<unknown> {
  switch (name) {
    case "u8":
      return fc.integer({ min: 0, max: 255 });
    case "u16":
      return fc.integer({ min: 0, max: 0xffff });
    case "u32":
      return u32;
    case "u64":
      return u64;
    case "string":
      return text;
    case "data":
      return fc.uint8Array({ maxLength: 100 });
    case "qid":
      return qid;
    case "qids":
      return fc.array(qid, { maxLength: 16 });
    case "names":
      return fc.array(text, { maxLength: 20 });
    default:
      return stat(dialect);
  }
}

/** Any message of a dialect. */
export function anyMessage(dialect: Dialect): fc.Arbitrary<Message> {
  return fc.oneof(
    ...Object.entries(MESSAGES).map(([type, { fields, dotu }]) =>
      fc.record({
        type: fc.constant(type as MessageName),
        tag: fc.integer({ min: 0, max: 0xffff }),
        ...Object.fromEntries(
          Object.entries<string>(dialect === "9P2000.u" ? { ...fields, ...dotu } : fields)
            .map(([name, kindName]) => [name, kind(kindName, dialect)]),
        ),
      }, PLAIN) as unknown as fc.Arbitrary<Message>
    ),
  );
}

const tag = fc.integer({ min: 0, max: 4 });
const fid = fc.constantFrom(0, 1, 2, 3, 4, 0xffff_ffff);
const name = fc.constantFrom("event", "event.json", "pub", "pub.json", "stats", "id", "..", "nothing", "");
const written = fc.constantFrom(
  "color",
  "> payload=base64",
  "a.>.b",
  "color replay=all",
  "color red\nnumber one\n",
  "unfinished",
  "\n",
  "..\n",
  '{"topic":"color","payload":5}\n',
  "{}\n",
);
const offset = fc.constantFrom(0n, 1n, 10n, 0xffff_ffff_ffff_ffffn);

/** What a client may say in any order: few tags and fids, so that they meet. */
export const request: fc.Arbitrary<Message> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("Tversion" as const),
      tag,
      msize: fc.constantFrom(255, 256, 8192),
      version: fc.constantFrom("9P2000", "9P2000.u", "9P2000.L", "x"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("Tauth" as const), tag, afid: fid, uname: name, aname: name }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("Tattach" as const),
      tag,
      fid,
      afid: fc.constant(0xffff_ffff),
      uname: name,
      aname: fc.constant(""),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("Tflush" as const), tag, oldtag: tag }) },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("Twalk" as const),
      tag,
      fid,
      newfid: fid,
      wname: fc.array(name, { maxLength: 2 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("Topen" as const),
      tag,
      fid,
      mode: fc.constantFrom(0, 1, 2, 3, 0x10, 0x12, 0x40),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("Tcreate" as const),
      tag,
      fid,
      name,
      perm: fc.constant(0o666),
      mode: fc.constant(1),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("Tread" as const),
      tag,
      fid,
      offset,
      count: fc.constantFrom(0, 1, 100, 0xffff_ffff),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("Twrite" as const),
      tag,
      fid,
      offset,
      data: written.map((text) => new TextEncoder().encode(text)),
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant("Tclunk" as const), tag, fid }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("Tremove" as const), tag, fid }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("Tstat" as const), tag, fid }) },
);
