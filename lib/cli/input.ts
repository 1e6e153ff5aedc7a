/**
 * Standard input, whole or by lines.
 *
 * @module
 */
import { concatenated } from "../bytes.ts";
import { reasonOf } from "../os_error.ts";
import { CommandError } from "./args.ts";

const NEWLINE = 10;
const READ_BYTES = 64 * 1024;

/**
 * Standard input, to its end. There is nothing else to do meanwhile, so the reads may block.
 *
 * @throws {CommandError} if it cannot be read
 */
export function readInput(): Uint8Array {
  const buffer = new Uint8Array(READ_BYTES);
  const chunks: Uint8Array[] = [];
  try {
    for (;;) {
      const bytes = Deno.stdin.readSync(buffer);
      if (bytes === null) return concatenated(chunks);
      // A copy of what came: a pipe may give a few bytes at a time.
      chunks.push(buffer.slice(0, bytes));
    }
  } catch (error) {
    throw inputError(error);
  }
}

/**
 * Standard input as it comes, in pieces of any length. A piece is good until the next one is asked for.
 *
 * @throws {CommandError} if it cannot be read
 */
export async function* inputPieces(): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(READ_BYTES);
  for (;;) {
    const bytes = await Deno.stdin.read(buffer).catch((error) => {
      throw inputError(error);
    });
    if (bytes === null) return;
    yield buffer.subarray(0, bytes);
  }
}

/**
 * The lines of standard input as they come, without their newlines. A line is good until the next one is asked for.
 *
 * @throws {CommandError} if it cannot be read
 */
export async function* inputLines(): AsyncGenerator<Uint8Array> {
  let begun: Uint8Array[] = [];
  for await (const piece of inputPieces()) {
    let start = 0;
    for (let end; (end = piece.indexOf(NEWLINE, start)) >= 0; start = end + 1) {
      const line = piece.subarray(start, end);
      yield begun.length === 0 ? line : concatenated([...begun, line]);
      begun = [];
    }
    if (start < piece.length) begun.push(piece.slice(start));
  }
  if (begun.length > 0) yield concatenated(begun);
}

function inputError(error: unknown): CommandError {
  return new CommandError(`cannot read standard input: ${reasonOf(error)}`, { cause: error });
}
