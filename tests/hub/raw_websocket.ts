/**
 * A WebSocket peer that is made of bytes, so that it can do what no decent client does: frames in pieces, without a mask, with
 * reserved bits; half a handshake; reading nothing; going away without a word.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6455
 */
import { concatenated } from "../../lib/bytes.ts";
import { within } from "../deadline.ts";
import { BytesReader, writeAll } from "./bytes_reader.ts";

/** What a frame is, in its first byte. */
export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A frame that is sent. What is not given is as a decent client has it. */
export interface SentFrame {
  readonly opcode: number;
  readonly payload?: Uint8Array | string;
  /** Whether it is the last of its message. */
  readonly fin?: boolean;
  /** The three reserved bits, as a number from 0 to 7. */
  readonly reserved?: number;
  /** Whether it is masked, as all that a client sends must be. */
  readonly masked?: boolean;
  /** How long it says that it is, where that is not how long it is. */
  readonly length?: number;
}

/** A frame that has been received. */
export interface ReceivedFrame {
  readonly opcode: number;
  readonly fin: boolean;
  readonly payload: Uint8Array;
}

/** An envelope that has been received. */
// deno-lint-ignore no-explicit-any -- a test says what it expects by comparing
export type Heard = Record<string, any>;

/** How a handshake may differ from a decent one. */
export interface Handshake {
  /** The path that is asked for. */
  readonly path?: string;
  /** The subprotocols that are offered. */
  readonly protocols?: readonly string[];
  /** Headers besides; and those that a handshake has, where they are to be others, or (`null`) left out. */
  readonly headers?: Readonly<Record<string, string | null>>;
}

const MASK = Uint8Array.of(0x12, 0x34, 0x56, 0x78);
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Writes a frame. */
export function encodeFrame(frame: SentFrame): Uint8Array {
  const { opcode, payload = "", fin = true, reserved = 0, masked = true } = frame;
  const content = typeof payload === "string" ? encoder.encode(payload) : payload;
  const length = frame.length ?? content.length;
  const head = [(fin ? 0x80 : 0) | reserved << 4 | opcode];
  const maskBit = masked ? 0x80 : 0;
  if (length < 126) {
    head.push(maskBit | length);
  } else if (length < 65_536) {
    head.push(maskBit | 126, length >> 8, length & 255);
  } else {
    const size = new DataView(new ArrayBuffer(8));
    size.setBigUint64(0, BigInt(length));
    head.push(maskBit | 127, ...new Uint8Array(size.buffer));
  }
  if (!masked) return concatenated([Uint8Array.from(head), content]);
  return concatenated([Uint8Array.from(head), MASK, content.map((byte, at) => byte ^ MASK[at % 4])]);
}

/** A text frame with an envelope. */
export function envelopeFrame(envelope: unknown): SentFrame {
  return { opcode: OPCODE.text, payload: JSON.stringify(envelope) };
}

/** The request that begins a WebSocket, as it is written. */
export function handshakeText(port: number, { path = "/", protocols = [], headers = {} }: Handshake = {}): string {
  const all: Record<string, string | null> = {
    "Host": `127.0.0.1:${port}`,
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
    ...protocols.length > 0 ? { "Sec-WebSocket-Protocol": protocols.join(", ") } : {},
    ...headers,
  };
  const lines = Object.entries(all).filter(([, value]) => value !== null).map(([name, value]) => `${name}: ${value}`);
  return [`GET ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n");
}

/** What a peer sits on. */
type Connection = Deno.TcpConn | Deno.TlsConn;

/** A peer. It reads nothing until it is asked to. Its connection goes at the end of the block. */
export class RawWebSocket implements Disposable {
  /** The connection, for what even this peer does not do. */
  readonly connection: Connection;
  /** The subprotocol that the server has picked. */
  readonly protocol: string | undefined;
  readonly #reader: BytesReader;

  private constructor(connection: Connection, reader: BytesReader, protocol: string | undefined) {
    this.connection = connection;
    this.protocol = protocol;
    this.#reader = reader;
  }

  /**
   * Connects.
   *
   * @param port of a hub on 127.0.0.1
   * @param handshake how it differs from a decent one
   * @throws {Error} with the status line and the body, if the server does not make a WebSocket of the connection
   */
  static async connect(port: number, handshake?: Handshake): Promise<RawWebSocket> {
    return await RawWebSocket.over(await Deno.connect({ hostname: "127.0.0.1", port }), handshake);
  }

  /**
   * Makes a WebSocket of a connection.
   *
   * @param connection which it takes over
   * @param handshake how it differs from a decent one
   * @throws {Error} as {@linkcode RawWebSocket.connect} does
   */
  static async over(connection: Connection, handshake?: Handshake): Promise<RawWebSocket> {
    const { port } = connection.remoteAddr;
    try {
      await writeAll(connection, encoder.encode(handshakeText(port, handshake)));
      const reader = new BytesReader(connection);
      const head = await reader.takeUntil("\r\n\r\n") ?? "no answer";
      if (!head.startsWith("HTTP/1.1 101 ")) {
        const length = Number(/^content-length: (\d+)$/mi.exec(head)?.[1] ?? 0);
        const body = new TextDecoder().decode(await reader.take(length));
        throw new Error(`${head.split("\r\n")[0]}: ${body.trimEnd()}`);
      }
      return new RawWebSocket(connection, reader, /^sec-websocket-protocol: (.*?)\r?$/mi.exec(head)?.[1]);
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** Sends frames, in one piece. */
  async send(...frames: readonly SentFrame[]): Promise<void> {
    await writeAll(this.connection, concatenated(frames.map(encodeFrame)));
  }

  /** Sends envelopes, a frame each. */
  async say(...envelopes: readonly unknown[]): Promise<void> {
    await this.send(...envelopes.map(envelopeFrame));
  }

  /** The next frame; `undefined` if the connection has ended. */
  async frame(): Promise<ReceivedFrame | undefined> {
    const head = await this.#reader.take(2);
    if (head === undefined) return undefined;
    let length = head[1] & 0x7f;
    if (length >= 126) {
      const size = await this.#reader.take(length === 126 ? 2 : 8);
      if (size === undefined) return undefined;
      length = size.reduce((sum, byte) => sum * 256 + byte, 0);
    }
    const payload = await this.#reader.take(length);
    return payload && { opcode: head[0] & 15, fin: (head[0] & 0x80) !== 0, payload };
  }

  /** The text of the next frame, which has to be one of text. Pings are answered. */
  text(): Promise<string> {
    // By its pings, a hub that has nothing to say keeps a connection busy for ever.
    return within(this.#text(), "a frame of text");
  }

  async #text(): Promise<string> {
    for (;;) {
      const frame = await this.frame();
      if (frame === undefined) throw new Error("the connection ended before another frame");
      if (frame.opcode === OPCODE.ping) {
        await this.send({ opcode: OPCODE.pong, payload: frame.payload });
      } else if (frame.opcode === OPCODE.text && frame.fin) {
        return decoder.decode(frame.payload);
      } else {
        throw new Error(
          `there came a frame with the opcode ${frame.opcode}: ${new TextDecoder().decode(frame.payload)}`,
        );
      }
    }
  }

  /** The next envelope, which has to be alone in its frame. */
  async hear(): Promise<Heard> {
    return JSON.parse(await this.text());
  }

  /** The next few envelopes. */
  async take(count: number): Promise<Heard[]> {
    const heard = [];
    for (let i = 0; i < count; i++) heard.push(await this.hear());
    return heard;
  }

  /** Waits until the hub has taken all that was sent. Returns what it sent before it said so. */
  async settled(): Promise<Heard[]> {
    const mark = crypto.randomUUID();
    await this.say({ type: "__ping", payload: mark });
    const heard = [];
    for (let envelope; (envelope = await this.hear()).payload !== mark;) heard.push(envelope);
    return heard;
  }

  /** Subscribes to each of these filters, and waits until that is in force. */
  async subscribe(...filters: readonly string[]): Promise<void> {
    await this.say(...filters.map((topic) => ({ type: "__subscribe", payload: { topic } })));
    const [refused] = await this.settled();
    if (refused !== undefined) throw new Error(`before the subscription was in force, there came ${refused.type}`);
  }

  /** How the server ends the connection: the code and reason of its close frame, `undefined` if there is none. */
  async ending(): Promise<{ code: number; reason: string } | undefined> {
    for (let frame; (frame = await this.frame()) !== undefined;) {
      if (frame.opcode !== OPCODE.close) continue;
      const { payload } = frame;
      return { code: payload[0] << 8 | payload[1], reason: decoder.decode(payload.subarray(2)) };
    }
    return undefined;
  }

  /** Closes the connection, without a word of WebSocket. */
  [Symbol.dispose](): void {
    try {
      this.connection.close();
    } catch {
      // It is closed.
    }
  }
}
