/**
 * What a server answers where it refuses: a text for people, and the number by which 9P2000.u tells a mount the same.
 *
 * Linux's client, when it speaks plain 9P2000, knows a fixed list of texts by the letter and makes any other into errno 526.
 * The common errors are therefore worded as that list has them.
 *
 * @module
 */

/** A request was refused. */
export class NinepError extends Error {
  /** `"NinepError"`. */
  override name = "NinepError";
  /** What the error is called by number, on Linux. */
  readonly errno: number;

  /**
   * @param message the text of the Rerror
   * @param errno its number
   * @param options what caused it, if anything did
   */
  constructor(message: string, errno: number, options?: ErrorOptions) {
    super(message, options);
    this.errno = errno;
  }
}

/** Numbers of errors, as Linux has them. */
export const Errno = {
  EPERM: 1,
  ENOENT: 2,
  EIO: 5,
  EBADF: 9,
  EACCES: 13,
  ENOTDIR: 20,
  EISDIR: 21,
  EINVAL: 22,
  EMFILE: 24,
  EFBIG: 27,
  ESPIPE: 29,
  EPIPE: 32,
  ENOBUFS: 105,
  EOPNOTSUPP: 95,
} as const;

/** The errors that have nothing more to say than what they are. */
const REFUSALS = {
  authentication: ["authentication not required", Errno.EOPNOTSUPP],
  badFid: ["fid unknown or out of range", Errno.EBADF],
  badOffset: ["bad offset in directory read", Errno.ESPIPE],
  fidInUse: ["fid already in use", Errno.EBADF],
  isDirectory: ["Is a directory", Errno.EISDIR],
  missing: ["No such file or directory", Errno.ENOENT],
  notDirectory: ["Not a directory", Errno.ENOTDIR],
  notOpen: ["Bad file descriptor", Errno.EBADF],
  notPermitted: ["Operation not permitted", Errno.EPERM],
  permission: ["Permission denied", Errno.EACCES],
  wstat: ["wstat prohibited", Errno.EPERM],
} as const satisfies Record<string, readonly [string, number]>;

/**
 * One of the common errors.
 *
 * @param which its name in {@linkcode REFUSALS}
 */
export function refusal(which: keyof typeof REFUSALS): NinepError {
  const [message, errno] = REFUSALS[which];
  return new NinepError(message, errno);
}
