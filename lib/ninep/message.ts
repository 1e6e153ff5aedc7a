/**
 * The messages of 9P2000 and 9P2000.u as data: one table says what each is made of, and the types come from it, as do the
 * encoder and the decoder in `codec.ts`. Names are those of the manual (section 5 of Plan 9's), where each message has a page.
 *
 * A message on the wire is `size[4] type[1] tag[2]` and its fields, numbers with their least significant byte first.
 *
 * @module
 */

/** Which protocol a connection speaks. `9P2000.u` adds a few fields, among them the number of an error. */
export type Dialect = "9P2000" | "9P2000.u";

/** The server's name for a file: see intro(5). */
export interface Qid {
  /** The high bits of the file's mode: {@linkcode QTDIR} and so on. */
  readonly type: number;
  /** Changes when the file does. */
  readonly version: number;
  /** Unique among the server's files. */
  readonly path: bigint;
}

/** What each kind of field holds once it has been read. */
export interface Kinds {
  u8: number;
  u16: number;
  u32: number;
  u64: bigint;
  /** `s[s]`: a length of two bytes, then UTF-8. */
  string: string;
  /** `count[4] data[count]`. */
  data: Uint8Array;
  qid: Qid;
  /** `nwqid[2] nwqid*(wqid[13])`. */
  qids: readonly Qid[];
  /** `nwname[2] nwname*(wname[s])`. */
  names: readonly string[];
  /** `n[2] stat[n]`, where the stat begins with a length of its own. */
  stat: Stat;
}

/** The fields of something, in the order in which they are written. */
export type Layout = Readonly<Record<string, keyof Kinds>>;
type Values<Fields extends Layout> = { readonly [Name in keyof Fields]: Kinds[Fields[Name]] };

/** The attributes of a file, in the order of stat(5), without the length before them. */
export const STAT = {
  type: "u16",
  dev: "u32",
  qid: "qid",
  mode: "u32",
  atime: "u32",
  mtime: "u32",
  length: "u64",
  name: "string",
  uid: "string",
  gid: "string",
  muid: "string",
} as const satisfies Layout;

/** What 9P2000.u adds to that. */
export const STAT_U = { extension: "string", n_uid: "u32", n_gid: "u32", n_muid: "u32" } as const satisfies Layout;

/** The attributes of a file. The optional ones are there in 9P2000.u only; those left out are written as nothing. */
export interface Stat extends Values<typeof STAT>, Partial<Values<typeof STAT_U>> {}

/** Every message: its number, its fields, and those that 9P2000.u adds. */
export const MESSAGES = {
  Tversion: { type: 100, fields: { msize: "u32", version: "string" }, dotu: {} },
  Rversion: { type: 101, fields: { msize: "u32", version: "string" }, dotu: {} },
  Tauth: { type: 102, fields: { afid: "u32", uname: "string", aname: "string" }, dotu: { n_uname: "u32" } },
  Rauth: { type: 103, fields: { aqid: "qid" }, dotu: {} },
  Tattach: {
    type: 104,
    fields: { fid: "u32", afid: "u32", uname: "string", aname: "string" },
    dotu: { n_uname: "u32" },
  },
  Rattach: { type: 105, fields: { qid: "qid" }, dotu: {} },
  Rerror: { type: 107, fields: { ename: "string" }, dotu: { errno: "u32" } },
  Tflush: { type: 108, fields: { oldtag: "u16" }, dotu: {} },
  Rflush: { type: 109, fields: {}, dotu: {} },
  Twalk: { type: 110, fields: { fid: "u32", newfid: "u32", wname: "names" }, dotu: {} },
  Rwalk: { type: 111, fields: { wqid: "qids" }, dotu: {} },
  Topen: { type: 112, fields: { fid: "u32", mode: "u8" }, dotu: {} },
  Ropen: { type: 113, fields: { qid: "qid", iounit: "u32" }, dotu: {} },
  Tcreate: {
    type: 114,
    fields: { fid: "u32", name: "string", perm: "u32", mode: "u8" },
    dotu: { extension: "string" },
  },
  Rcreate: { type: 115, fields: { qid: "qid", iounit: "u32" }, dotu: {} },
  Tread: { type: 116, fields: { fid: "u32", offset: "u64", count: "u32" }, dotu: {} },
  Rread: { type: 117, fields: { data: "data" }, dotu: {} },
  Twrite: { type: 118, fields: { fid: "u32", offset: "u64", data: "data" }, dotu: {} },
  Rwrite: { type: 119, fields: { count: "u32" }, dotu: {} },
  Tclunk: { type: 120, fields: { fid: "u32" }, dotu: {} },
  Rclunk: { type: 121, fields: {}, dotu: {} },
  Tremove: { type: 122, fields: { fid: "u32" }, dotu: {} },
  Rremove: { type: 123, fields: {}, dotu: {} },
  Tstat: { type: 124, fields: { fid: "u32" }, dotu: {} },
  Rstat: { type: 125, fields: { stat: "stat" }, dotu: {} },
  Twstat: { type: 126, fields: { fid: "u32", stat: "stat" }, dotu: {} },
  Rwstat: { type: 127, fields: {}, dotu: {} },
} as const satisfies Record<string, { type: number; fields: Layout; dotu: Layout }>;

/** What a message is called, such as `Tread`. */
export type MessageName = keyof typeof MESSAGES;

/** What a message says besides its type and tag. The fields of 9P2000.u may be left out, and are then written as nothing. */
export type Fields<Name extends MessageName> =
  & Values<typeof MESSAGES[Name]["fields"]>
  & Partial<Values<typeof MESSAGES[Name]["dotu"]>>;

/** A message of one type. */
export type MessageOf<Name extends MessageName> = { readonly type: Name; readonly tag: number } & Fields<Name>;

/** Any message. */
export type Message = { [Name in MessageName]: MessageOf<Name> }[MessageName];

/** The tag of Tversion, which belongs to no request. */
export const NOTAG = 0xffff;
/** The fid that stands for none. */
export const NOFID = 0xffff_ffff;
/** How many names one Twalk may hold. */
export const MAXWELEM = 16;
/** What a client and a server leave room for around the data of a Twrite or Rread. */
export const IOHDRSZ = 24;
/** The length of `size[4] type[1] tag[2]`. */
export const HEADER_BYTES = 7;

/** The bits of {@linkcode Qid.type}: a directory. */
export const QTDIR = 0x80;
/** A plain file. */
export const QTFILE = 0x00;
/** The bit of {@linkcode Stat.mode} for a directory. */
export const DMDIR = 0x8000_0000;
/** The modes of Topen: to read, to write, both, to execute. */
export const OREAD = 0;
/** To write. */
export const OWRITE = 1;
/** To read and to write. */
export const ORDWR = 2;
/** To execute. */
export const OEXEC = 3;
/** A bit of Topen's mode: empty the file first. */
export const OTRUNC = 0x10;
/** A bit of Topen's mode: remove the file when its fid is clunked. */
export const ORCLOSE = 0x40;

/** What was received is no message: the stream cannot be followed any further. */
export class FrameError extends Error {
  /** `"FrameError"`. */
  override name = "FrameError";
}
