/**
 * Paths of files.
 *
 * @module
 */

/**
 * The directory that a file is in.
 *
 * @param path of the file
 * @returns such as `/run/` for `/run/ollie`, and `.` for `ollie`
 */
export function directoryOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1) || ".";
}
