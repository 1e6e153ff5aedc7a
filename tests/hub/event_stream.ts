/** A client of Server-Sent Events that shows what is on the wire: each field of each event, comments left out. */
import { within } from "../deadline.ts";

/** An event, as its lines say. */
export interface StreamedEvent {
  /** All `data` lines. */
  readonly data: string;
  /** What `event` says, else `message`. */
  readonly event: string;
  /** What `id` says, if there is one in this event. */
  readonly id: string | undefined;
}

/** A stream that is read as far as it is asked for. It is given up at the end of the block. */
export class EventStream implements AsyncDisposable {
  /** What the request was answered. */
  readonly response: Response;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #unread = "";
  /** The last id that came, with an event or without: what an `EventSource` comes back with. */
  lastId = "";

  private constructor(response: Response) {
    this.response = response;
    if (response.body === null) throw new Error("the answer has no body");
    this.#reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  }

  /**
   * Opens one, and waits for its head, after which no event can be missed.
   *
   * @param url such as `http://127.0.0.1:8080/sub/color`
   * @param headers of the request
   * @throws {Error} with the body, if the answer is no stream
   */
  static async open(url: string, headers: Record<string, string> = {}): Promise<EventStream> {
    const response = await fetch(url, { headers });
    if (response.status !== 200) throw new Error(`${response.status}: ${(await response.text()).trimEnd()}`);
    const stream = new EventStream(response);
    await stream.#block();
    return stream;
  }

  /** The next event; comments, and blocks without data, are passed by. */
  async event(): Promise<StreamedEvent> {
    return await this.next() ?? Promise.reject(new Error("the stream ended before another event"));
  }

  /** The same; `undefined` at the end of the stream. */
  async next(): Promise<StreamedEvent | undefined> {
    for (let block; (block = await this.#block()) !== undefined;) {
      if (block.data !== undefined) return { data: block.data, event: block.event ?? "message", id: block.id };
    }
    return undefined;
  }

  async #block(): Promise<Record<string, string | undefined> | undefined> {
    let end;
    while ((end = this.#unread.indexOf("\n\n")) < 0) {
      const { value, done } = await within(this.#reader.read().catch(() => ({ value: "", done: true })), "more events");
      if (done) return undefined;
      this.#unread += value;
    }
    const fields: Record<string, string | undefined> = {};
    for (const line of this.#unread.slice(0, end).split("\n")) {
      const [, name, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
      if (name === "" || name === undefined) continue;
      fields[name] = fields[name] === undefined ? value ?? "" : `${fields[name]}\n${value ?? ""}`;
    }
    this.#unread = this.#unread.slice(end + 2);
    if (fields.id !== undefined) this.lastId = fields.id;
    return fields;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel().catch(() => {});
  }
}
