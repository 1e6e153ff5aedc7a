/**
 * Reading events from their files, synchronously: 6 µs for a small file, where the asynchronous way through another thread
 * takes 40.
 *
 * @module
 */
import { UnreadableEventError } from "../../bus.ts";
import type { BusEvent } from "../../event.ts";
import { reasonOf, unlessMissing } from "../../os_error.ts";
import { isVia } from "../../identity.ts";
import { isLinked, parseName } from "./name.ts";

/** The events of one directory, as they are read. */
export class EventFiles {
  readonly #bus: string;
  /** What was read last: subscribers who wait for the same event read it one after another. */
  #last: BusEvent | undefined;

  /** @param bus the directory whose `events/` is read */
  constructor(bus: string) {
    this.#bus = bus;
  }

  /**
   * Reads an event.
   *
   * @param name of its file
   * @returns the event, which is not the caller's alone; `"gone"` if there is no such file any more, `"none"` if it is no file
   * @throws {UnreadableEventError} if it is there but cannot be read
   */
  read(name: string): BusEvent | "gone" | "none" {
    if (this.#last?.id === name) return this.#last;
    const path = `${this.#bus}/events/${name}`;
    const parsed = parseName(name);
    try {
      // A link may lead anywhere; and opening a pipe would wait for its other end.
      if (parsed === undefined || !Deno.statSync(path).isFile) return "none";
      // First: it is removed after the event.
      const via = isLinked(name) ? this.#viaOf(name) : undefined;
      const payload = Deno.readFileSync(path);
      return this.#last = { id: name, ...parsed, payload, ...via === undefined ? {} : { via } };
    } catch (error) {
      // A link may lead nowhere; and what is not UTF-8 in a name is shown as something else.
      if (error instanceof Deno.errors.NotFound) return name.includes("\ufffd") || isLink(path) ? "none" : "gone";
      throw new UnreadableEventError(
        `cannot read the event ${JSON.stringify(name)} in ${this.#bus}: ${reasonOf(error, this.#bus)}`,
        { cause: error },
      );
    }
  }

  /** On which buses an event has been; `undefined` where nothing is said of that: others may spell a name so, too. */
  #viaOf(name: string): readonly string[] | undefined {
    const text = unlessMissing(() => Deno.readTextFileSync(`${this.#bus}/via/${name}`));
    const via = text?.trim().split("\n");
    return isVia(via) ? via : undefined;
  }
}

function isLink(path: string): boolean {
  return unlessMissing(() => Deno.lstatSync(path))?.isSymlink === true;
}
