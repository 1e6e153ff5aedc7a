/**
 * What a 9P server serves: a tree of directories and files. The server knows the protocol and nothing of what is in the files;
 * the files know nothing of connections, tags and fids.
 *
 * @module
 */
import type { Dialect, Stat } from "./message.ts";

/** A directory, whose entries do not change. */
export interface Directory {
  /** Its attributes. */
  readonly stat: Stat;
  /** What is in it, by name. */
  readonly entries: ReadonlyMap<string, File | Directory>;
}

/** A file. */
export interface File {
  /** Its attributes. */
  readonly stat: Stat;
  /**
   * Opens it, for one fid.
   *
   * @param how what for
   * @throws {NinepError} if that is refused
   */
  open(how: OpenMode): OpenFile | Promise<OpenFile>;
}

/** How a file is to be opened. */
export interface OpenMode {
  /** Whether it will be read. */
  readonly read: boolean;
  /** Whether it will be written to. */
  readonly write: boolean;
  /** What the connection speaks. */
  readonly dialect: Dialect;
  /** Whether the fid is a copy of one that stood for the same file, as those are through which a mount opens files. */
  readonly copied: boolean;
  /** The most bytes that one read or write can carry. */
  readonly iounit: number;
}

/** A file that a fid has opened. Each request is answered once, at once or later, whatever else goes on. */
export interface OpenFile {
  /** Asks for bytes. Only called if the file was opened to be read. */
  read(request: ReadRequest): void;
  /** Brings bytes. Only called if the file was opened to be written to. */
  write(request: WriteRequest): void;
  /** A read that has not been answered is to be forgotten: its answer would go nowhere. */
  flush(request: ReadRequest): void;
  /**
   * The fid is given up: reads that wait are to be answered with an error. A write that is under way is answered all the same.
   *
   * @param how `"clunk"` if the client said so, `"hangup"` if the connection ended or began anew
   * @throws {NinepError} what a Tclunk is then answered with; the fid is gone all the same
   */
  close(how: "clunk" | "hangup"): void | Promise<void>;
}

/** A Tread that waits for its answer. */
export interface ReadRequest {
  /** Where in the file, as the client sees it. */
  readonly offset: bigint;
  /** The most bytes that the answer may hold. */
  readonly count: number;
  /** Resolves when the connection has room for the answer; `undefined` if it has. */
  room(): Promise<void> | undefined;
  /** Answers. Nobody changes the data any more. */
  answer(data: Uint8Array): void;
  /** Refuses. */
  fail(error: unknown): void;
}

/** A Twrite that waits for its answer. */
export interface WriteRequest {
  /** Where in the file, as the client sees it. */
  readonly offset: bigint;
  /** What is to be written: good until the call returns. */
  readonly data: Uint8Array;
  /** Answers that all has been written. */
  done(): void;
  /** Refuses. */
  fail(error: unknown): void;
}
