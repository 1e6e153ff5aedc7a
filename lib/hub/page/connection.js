// @ts-check
/// <reference lib="dom" />
/**
 * The connection to the hub: it stays connected for as long as the page is open, goes on after a disconnection where it was, and
 * says how it stands. What it sends and receives is described in `lib/hub/README.md`.
 *
 * @module
 */
import { Progress } from "./resume.js";

/** How many events of the past a new page begins with. */
const REPLAY = 50;
/** How long a connection may take to come about, and an answer to a `__ping`, in milliseconds. */
const PATIENCE = 10_000;
/** After how long without a word the hub is asked whether it is there. */
const QUIET = 15_000;
/** After how long a connection is one that lasts, so that the next one may be tried for at once. */
const STABLE = 5000;
/** The longest wait before another attempt. */
const MAX_DELAY = 10_000;
/** What a `__ping` holds that follows a subscription. */
const SUBSCRIBED = "subscribed";
const TOKEN_KEY = "ollie.token";

/**
 * How the connection stands: there is none yet; there is one, and what was asked for is on its way; all is in force; the next
 * attempt comes later, at a time in milliseconds; the hub wants a token, or another one.
 *
 * @typedef {{ is: "connecting" } | { is: "joining" } | { is: "connected" } | { is: "waiting", until: number }
 *   | { is: "refused", hadToken: boolean }} State
 */

/**
 * When an event was published: now, before the page was opened, or while there was no connection.
 *
 * @typedef {"live" | "past" | "missed"} Tense
 */

/**
 * @typedef {object} Listener
 * @property {(state: State) => void} state is told how the connection stands
 * @property {(event: { topic: string, time: string, line: string, tense: Tense }) => void} event is given each event, once
 * @property {() => void} lost is told that events may have been missed, since the hub cannot go on where it was
 * @property {(until: string) => void} gap is told that events are gone which the page was to have, the last of them from that time
 * @property {(reason: string) => void} forbidden is told that what was asked for may not be read
 * @property {(reason: string) => void} trouble is told of anything else that has gone wrong
 */

/** An envelope of the hub, of which nothing is known before it has been looked at. @typedef {any} Envelope */

/** A connection that mends itself. */
export class Connection {
  #listener;
  /** @type {WebSocket | undefined} */
  #socket;
  /** Gives up the socket at once: a hub that is no longer there does not close it. */
  #ended = () => {};
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #attempts = 0;
  #topics = [">"];
  #progress = new Progress();
  /** What to do if the hub refuses what it has been asked for. @type {(() => void) | undefined} */
  #otherwise;
  /** @type {Tense} */
  #tense = "live";
  #begun = false;
  #isSettled = false;
  #lastRef = 0;
  /** The `ref` of what the hub was last asked for. */
  #request = 0;
  /** @type {Map<number, { resolve: (answer: { time: string }) => void, reject: (error: Error) => void }>} */
  #publishing = new Map();
  #heard = 0;
  #asked = 0;
  #opened = 0;

  /** @param {Listener} listener */
  constructor(listener) {
    this.#listener = listener;
    setInterval(() => this.#listen(), 5000);
    addEventListener("online", () => this.connectNow());
  }

  /** Whether events come, and can be published. */
  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Connects at once, unless it is connected. */
  connectNow() {
    if (this.#socket !== undefined) return;
    clearTimeout(this.#timer);
    this.#connect();
  }

  /**
   * Connects with a token, which is remembered for as long as the tab is open.
   *
   * @param {string} token
   * @throws {Error} if it cannot be one
   */
  useToken(token) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(token)) {
      throw new Error("A browser can only send a token of letters, digits and !#$%&'*+-.^_`|~.");
    }
    sessionStorage.setItem(TOKEN_KEY, token);
    this.connectNow();
  }

  /**
   * Asks for other topics than all, for a reader who may not read all.
   *
   * @param {string[]} topics filters
   */
  ask(topics) {
    if (this.isOpen) this.#send("__unsubscribe", { topic: this.#topics });
    this.#topics = topics;
    if (this.isOpen) this.#subscribeAnew();
  }

  /**
   * Publishes an event.
   *
   * @param {string} topic
   * @param {string} members what the envelope says of the payload
   * @returns {Promise<{ time: string }>} when it was published
   * @throws {Error} saying why the hub refused it
   */
  publish(topic, members) {
    if (!this.isOpen) return Promise.reject(new Error("There is no connection to the hub now."));
    const ref = ++this.#lastRef;
    this.#socket?.send(`{"type":${JSON.stringify(topic)},"id":"",${members},"ref":${ref}}`);
    return new Promise((resolve, reject) => this.#publishing.set(ref, { resolve, reject }));
  }

  #connect() {
    this.#listener.state({ is: "connecting" });
    const token = sessionStorage.getItem(TOKEN_KEY);
    const url = new URL("./", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url, token ? ["ollie.batch.v1", `ollie.token.${token}`] : ["ollie.batch.v1"]);
    this.#socket = socket;
    let opened = false;
    const late = setTimeout(() => this.#ended(), PATIENCE);
    socket.onopen = () => {
      clearTimeout(late);
      opened = true;
      this.#heard = this.#opened = Date.now();
      this.#listener.state({ is: "joining" });
      this.#subscribe();
    };
    socket.onmessage = ({ data }) => {
      this.#heard = Date.now();
      for (const line of data.split("\n")) this.#receive(line);
    };
    this.#ended = () => {
      clearTimeout(late);
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
      this.#closed(opened, token);
    };
    socket.onclose = this.#ended;
  }

  /**
   * @param {boolean} opened whether there was a connection
   * @param {string | null} token what it was tried with
   */
  async #closed(opened, token) {
    for (const { reject } of this.#publishing.values()) {
      reject(new Error("The connection was lost before the hub had confirmed it: it may or may not be published."));
    }
    this.#publishing.clear();
    const refused = !opened && await needsToken(token);
    this.#socket = undefined;
    if (refused) return this.#listener.state({ is: "refused", hadToken: token !== null });
    if (opened && Date.now() - this.#opened > STABLE) this.#attempts = 0;
    // The first attempt comes at once, but not in step with those of all the other pages that have lost the same hub.
    const longest = Math.min(MAX_DELAY, 250 * 2 ** this.#attempts++);
    const delay = longest * (0.5 + Math.random() / 2);
    this.#timer = setTimeout(() => this.#connect(), delay);
    this.#listener.state({ is: "waiting", until: Date.now() + delay });
  }

  /** Asks for what comes after what has been seen; the first time, for a little of the past and what follows. */
  #subscribe() {
    if (!this.#begun) return this.#subscribeAnew();
    const place = this.#progress.request;
    const fromNow = () => {
      this.#progress = new Progress();
      this.#listener.lost();
      this.#subscribeFromNow();
    };
    if (place === undefined) return fromNow();
    this.#askFor("missed", place, fromNow);
  }

  #subscribeAnew() {
    this.#askFor("past", { replay: REPLAY }, () => this.#subscribeFromNow());
  }

  /** What a bus that keeps nothing has: perhaps positions, and if it has none, what is published from now on. */
  #subscribeFromNow() {
    this.#askFor("live", { replay: 0 }, () => {
      this.#askFor("live", {});
      // This is answered only if it is refused, so what follows it tells that it was not.
      this.#send("__ping", SUBSCRIBED);
    });
  }

  /**
   * @param {Tense} tense of the events that come before all is settled
   * @param {Record<string, unknown>} from where to begin
   * @param {() => void} [otherwise] what to do if that is refused
   */
  #askFor(tense, from, otherwise) {
    this.#tense = tense;
    this.#otherwise = otherwise;
    this.#isSettled = false;
    this.#request = ++this.#lastRef;
    this.#send("__subscribe", { topic: this.#topics, ...from }, this.#request);
  }

  /**
   * @param {string} type
   * @param {unknown} payload
   * @param {number} [ref]
   */
  #send(type, payload, ref) {
    this.#socket?.send(JSON.stringify({ type, id: "", payload, ref }));
  }

  /** @param {string} line */
  #receive(line) {
    /** @type {Envelope} */
    let envelope;
    try {
      envelope = JSON.parse(line);
    } catch {
      return;
    }
    const { type, id } = envelope;
    if (type.startsWith("__")) return this.#control(envelope);
    const now = Date.now();
    if (typeof envelope.at === "string" && !this.#progress.note(envelope.at, now)) return;
    this.#listener.event({
      topic: id === "" ? type : `${type}:${id}`,
      time: envelope.time ?? new Date(now).toISOString(),
      line,
      tense: this.#tense,
    });
  }

  /** @param {Envelope} envelope */
  #control({ type, payload }) {
    if (type === "__subscribed") {
      if (payload.at !== undefined) this.#progress.begin(payload.at, Date.now());
      this.#settled();
    } else if (type === "__published") {
      this.#publishing.get(payload.ref)?.resolve(payload);
      this.#publishing.delete(payload.ref);
    } else if (type === "__pong") {
      if (payload === SUBSCRIBED) this.#settled();
    } else if (type === "__gap") {
      if (this.#progress.noteGap(payload.at, payload.time)) this.#listener.gap(payload.time);
    } else if (type === "__error") {
      this.#refused(payload);
    }
  }

  /** All that was asked for is in force. */
  #settled() {
    this.#tense = "live";
    this.#begun = true;
    this.#isSettled = true;
    this.#listener.state({ is: "connected" });
  }

  /** @param {{ reason: string, ref?: number, topic?: unknown }} error */
  #refused({ reason, ref, topic }) {
    const published = this.#publishing.get(ref ?? NaN);
    if (published !== undefined) {
      this.#publishing.delete(ref ?? NaN);
      published.reject(new Error(reason));
    } else if (ref !== this.#request) {
      this.#listener.trouble(topic === undefined ? reason : `${reason} (${topic})`);
    } else if (this.#isSettled) {
      // The subscription has ended after all.
      this.#listener.trouble(reason);
      this.#ended();
    } else if (this.#otherwise === undefined) {
      this.#listener.state({ is: "connected" });
      this.#listener.forbidden(reason);
    } else {
      this.#otherwise();
    }
  }

  /** Finds out whether the hub is still there, which a connection that has been cut somewhere does not tell. */
  #listen() {
    if (!this.isOpen) return;
    const now = Date.now();
    if (this.#asked > this.#heard && now - this.#asked > PATIENCE) return this.#ended();
    if (now - this.#heard <= QUIET || this.#asked > this.#heard) return;
    this.#asked = now;
    this.#send("__ping", null);
  }
}

/**
 * Whether the hub wants another token, which a browser does not tell of a WebSocket that has failed.
 *
 * @param {string | null} token what was tried
 */
async function needsToken(token) {
  try {
    const response = await fetch("metrics", {
      headers: token ? { Authorization: `Bearer ${token}` } : {},
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE),
    });
    await response.body?.cancel();
    return response.status === 401;
  } catch {
    return false;
  }
}
