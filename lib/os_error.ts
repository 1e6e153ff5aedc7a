/**
 * What the operating system said, or Deno, which lets a program do only what it was started with: as the end of a sentence for a
 * person, and as an answer where it said that there is no such file.
 *
 * @module
 */

/**
 * Says why something failed.
 *
 * @param error what was thrown
 * @param directory what it was about, where that is a directory, and the error speaks of one of the files in it
 * @returns such as `permission denied` or `no space left on device`, without the error's number and call
 */
export function reasonOf(error: unknown, directory?: string): string {
  if (!(error instanceof Error)) return String(error);
  const missing = missingPermission(error.message, directory);
  if (missing !== undefined) return missing;
  const said = /^(.+?) \(os error \d+\)/.exec(error.message)?.[1];
  if (said === undefined) return error.message;
  if (error instanceof Deno.errors.NotADirectory) return "it is not a directory";
  return said[0].toLowerCase() + said.slice(1);
}

/** How Deno words that a program, or an executable, lacks a permission. It throws errors of several classes, so this tells. */
const REQUIRES =
  /^Requires (\w+) access(?: to "(.*)")?, (?:run again with the|specify the required permissions during compilation)/s;

/** What a program does that has a permission. */
const USES: Readonly<Record<string, string>> = {
  read: "read",
  write: "write to",
  net: "use the network at",
  env: "read the environment variable",
  import: "load modules from",
};

/**
 * Says which permission is missing, and for what.
 *
 * @param message an error's
 * @param directory what is to be allowed as a whole, if the error is about a file in it
 * @returns such as `Deno does not let this program read /tmp/a: start it with --allow-read=/tmp/a`; `undefined` if the error is another
 */
export function missingPermission(message: string, directory?: string): string | undefined {
  const [matched, kind, what] = REQUIRES.exec(message) ?? [];
  if (matched === undefined) return undefined;
  if (kind === "all") {
    return "Deno lets no program into /dev, /proc and /sys that does not hold every permission: use another directory";
  }
  return withoutPermission(kind, what, directory);
}

/**
 * Says that a permission is missing, and which option gives it.
 *
 * @param kind of the permission, such as `read`
 * @param what it is for, such as a path
 * @param directory what is to be allowed as a whole, if what was refused is in it
 */
export function withoutPermission(kind: string, what: string | undefined, directory?: string): string {
  const use = USES[kind];
  // An executable has the permissions that it was compiled with.
  const remedy = `${Deno.build.standalone ? "compile" : "start"} it with --allow-${kind}`;
  if (what === undefined || use === undefined) return `Deno does not let this program do that: ${remedy}`;
  const scope = kind === "read" || kind === "write" ? directory ?? what : what;
  // A socket's name while it is made is not known beforehand; and a comma would begin another scope.
  const isScope = !what.startsWith("unix:") && /^[\w./:[\]~+-]+$/.test(scope);
  return `Deno does not let this program ${use} ${what}: ${remedy}${isScope ? `=${scope}` : ""}`;
}

/**
 * Looks at a file that need not be there.
 *
 * @param look what throws `NotFound` where there is none
 * @returns what it returns; `undefined` where there is none
 */
export function unlessMissing<Found>(look: () => Found): Found | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
