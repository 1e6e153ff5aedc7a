/**
 * The machines that Ollie is released for, and what people download for each.
 *
 * @module
 */

/** A kind of machine, and the archive for it. */
export interface Target {
  /** What compilers call it, and `deno compile --target` takes. */
  readonly triple: string;
  /** What people on it unpack with what they have. */
  readonly format: "tar.gz" | "zip";
  /** What the executable is called on it. */
  readonly executable: "ollie" | "ollie.exe";
}

/** All of them. */
export const TARGETS: readonly Target[] = [
  { triple: "x86_64-unknown-linux-gnu", format: "tar.gz", executable: "ollie" },
  { triple: "aarch64-unknown-linux-gnu", format: "tar.gz", executable: "ollie" },
  { triple: "x86_64-apple-darwin", format: "tar.gz", executable: "ollie" },
  { triple: "aarch64-apple-darwin", format: "tar.gz", executable: "ollie" },
  { triple: "x86_64-pc-windows-msvc", format: "zip", executable: "ollie.exe" },
];

/** The directory that an archive unpacks to, such as `ollie-x86_64-unknown-linux-gnu`: nobody's own is littered. */
export function directoryName({ triple }: Target): string {
  return `ollie-${triple}`;
}

/** The name of an archive, such as `ollie-x86_64-unknown-linux-gnu.tar.gz`. */
export function archiveName(target: Target): string {
  return `${directoryName(target)}.${target.format}`;
}
