/**
 * Archives, as people on any system unpack them. The same files make the same archive, to the byte: it tells nothing of when, where
 * and by whom it was made.
 *
 * @module
 */
import { gzipSync } from "node:zlib";
import { type Zippable, zipSync } from "fflate";
import { packTar } from "modern-tar";

/** A file in an archive. */
export interface ArchivedFile {
  /** Where it is, with `/` between names. */
  readonly path: string;
  /** What is in it, to the byte. */
  readonly content: Uint8Array;
  /** Whether it is a program. */
  readonly executable: boolean;
}

/** All of it was last changed at the beginning of this year, which is the first that a zip archive can tell. */
const YEAR = 1980;

/** What compresses best. */
const LEVEL = 9;

/** The system whose modes a zip archive has, and the mode of a regular file there. */
const UNIX = 3;
const REGULAR_FILE = 0o100000;

/**
 * Makes an archive.
 *
 * @param format what kind
 * @param files what is in it, in any order
 */
export async function pack(format: "tar.gz" | "zip", files: readonly ArchivedFile[]): Promise<Uint8Array> {
  const sorted = [...files].sort((a, b) => a.path < b.path ? -1 : 1);
  return format === "zip" ? zip(sorted) : gzipSync(await tar(sorted), { level: LEVEL });
}

function tar(files: readonly ArchivedFile[]): Promise<Uint8Array> {
  return packTar(files.map((file) => ({
    header: {
      name: file.path,
      size: file.content.length,
      mode: modeOf(file),
      mtime: new Date(Date.UTC(YEAR, 0, 1)),
      uid: 0,
      gid: 0,
    },
    body: file.content,
  })));
}

function zip(files: readonly ArchivedFile[]): Uint8Array {
  const entries: Zippable = {};
  for (const file of files) {
    entries[file.path] = [file.content, {
      level: LEVEL,
      // In such an archive a time is what a clock on the wall shows, wherever it hangs.
      mtime: new Date(YEAR, 0, 1),
      os: UNIX,
      // An unsigned number of 32 bits, which << does not make.
      attrs: (REGULAR_FILE | modeOf(file)) * 0x10000,
    }];
  }
  return zipSync(entries);
}

function modeOf({ executable }: ArchivedFile): number {
  return executable ? 0o755 : 0o644;
}
