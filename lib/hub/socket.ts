/**
 * What a hub needs of a socket, whoever made it: a `WebSocket` of Deno, Node, a browser or npm `ws`, a `ServerWebSocket` of Bun,
 * the `WSContext` of Hono, or a `MessagePort`.
 *
 * @module
 */

/** A socket that sends text. */
export interface TextSocket {
  /** Sends one frame. */
  send(text: string): unknown;
  /** Ends the connection. */
  close(code?: number, reason?: string): unknown;
  /** 1 while it is open. */
  readonly readyState?: number;
  /** How many bytes it has been handed and has not sent. */
  readonly bufferedAmount?: number;
  /** The same, as Bun tells it. */
  getBufferedAmount?(): number;
  /** How it gives what it receives as binary. */
  binaryType?: string;
  /** Where it can tell what it receives by itself. */
  addEventListener?: TellsEvents;
}

/** A port of a `MessageChannel`. It does not tell what it has yet to send, so a slow reader at its other end is not noticed. */
export interface MessagePortSocket {
  /** Sends one frame. */
  postMessage(text: string): unknown;
  /** Ends the connection. */
  close?(): unknown;
  /** Lets messages come. */
  start?(): unknown;
  /** Where it tells what it receives. */
  addEventListener: TellsEvents;
}

/** Any of them. */
export type HubSocket = TextSocket | MessagePortSocket;

/** What listening looks like, of all platforms. */
// deno-lint-ignore no-explicit-any -- each platform has its own type of event, and a listener for one of them takes no other
export type TellsEvents = (type: any, listener: (event: any) => void) => unknown;

const OPEN = 1;

/** One kind of socket in place of all, for {@linkcode Connection}. */
export class Wire {
  readonly #socket: HubSocket;

  /** @param socket any kind */
  constructor(socket: HubSocket) {
    this.#socket = socket;
  }

  /** Sends one frame. What can no longer be sent is dropped: its connection is about to be removed. */
  send(text: string): void {
    const socket = this.#socket;
    try {
      if ("postMessage" in socket) socket.postMessage(text);
      else if ((socket.readyState ?? OPEN) === OPEN) socket.send(text);
    } catch {
      // It is ending; its `close` will come.
    }
  }

  /** How many bytes it has not sent yet, as far as it tells. */
  get bufferedAmount(): number {
    const socket = this.#socket;
    if ("postMessage" in socket) return 0;
    return socket.bufferedAmount ?? socket.getBufferedAmount?.() ?? 0;
  }

  /** Ends the connection. A peer that does not read may keep the socket from ending. */
  close(code: number, reason: string): void {
    const socket = this.#socket;
    try {
      if ("postMessage" in socket) socket.close?.();
      else socket.close(code, reason);
    } catch {
      // It had not opened, or has ended.
    }
  }

  /**
   * Listens, where the socket can be listened to.
   *
   * @param received is given each frame
   * @param closed is called when it has ended
   */
  listen(received: (data: unknown) => void, closed: () => void): void {
    const socket = this.#socket;
    if ("binaryType" in socket) socket.binaryType = "arraybuffer";
    socket.addEventListener?.("message", (event: { readonly data: unknown }) => received(event.data));
    socket.addEventListener?.("close", closed);
    socket.addEventListener?.("error", closed);
    if ("postMessage" in socket) socket.start?.();
  }
}
