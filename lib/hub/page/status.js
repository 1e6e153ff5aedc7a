// @ts-check
/// <reference lib="dom" />
/**
 * How the connection stands, and what the reader has to know or do about it: a wait, a token, a gap.
 *
 * @module
 */
import { part, setText } from "./parts.js";

const connection = part("connection", HTMLElement);
const stateText = part("connection-state", HTMLElement);
const waitText = part("connection-wait", HTMLElement);
const connectButton = part("connect-now", HTMLButtonElement);
const tokenForm = part("token-form", HTMLFormElement);
const tokenBox = part("token", HTMLInputElement);
const tokenReason = part("token-reason", HTMLElement);
const notice = part("notice", HTMLElement);
const noticeText = part("notice-text", HTMLElement);
const noticeButton = part("notice-close", HTMLButtonElement);

/** @typedef {import("./connection.js").State} State */

/** @type {ReturnType<typeof setInterval> | undefined} */
let counting;

/**
 * Makes what can be pressed work.
 *
 * @param {import("./connection.js").Connection} hub
 */
export function startStatus(hub) {
  connectButton.addEventListener("click", () => hub.connectNow());
  noticeButton.addEventListener("click", () => notice.hidden = true);
  tokenForm.addEventListener("submit", (event) => {
    event.preventDefault();
    try {
      hub.useToken(tokenBox.value.trim());
    } catch (error) {
      setText(tokenReason, error instanceof Error ? error.message : String(error));
    }
  });
}

/**
 * Shows how the connection stands.
 *
 * @param {State} state
 */
export function showState(state) {
  clearInterval(counting);
  setText(waitText, "");
  if (state.is === "waiting") showWait(state.until);
  // An attempt that is one of many is not worth a word.
  if (state.is === "connecting" && connection.dataset.state === "waiting") return;
  connection.dataset.state = state.is;
  connectButton.hidden = state.is !== "waiting";
  setText(stateText, WORDS[state.is]);
  if (state.is === "refused") showToken(state.hadToken);
  if (state.is === "connected") {
    tokenForm.hidden = true;
    tokenBox.value = "";
  }
}

const WORDS = {
  connecting: "Connecting",
  joining: "Catching up",
  connected: "Connected",
  waiting: "Reconnecting",
  refused: "Token needed",
};

/**
 * Says something that stays until the reader has dismissed it.
 *
 * @param {string} text
 */
export function showNotice(text) {
  setText(noticeText, text);
  notice.hidden = false;
}

/** Takes it back. */
export function hideNotice() {
  notice.hidden = true;
}

/**
 * Counts down. The seconds are for the eye only: read aloud, they would never end.
 *
 * @param {number} until a time in milliseconds
 */
function showWait(until) {
  const count = () => {
    const seconds = Math.ceil((until - Date.now()) / 1000);
    setText(waitText, seconds > 1 ? `in ${seconds} s` : "");
  };
  count();
  counting = setInterval(count, 250);
}

/** @param {boolean} hadToken */
function showToken(hadToken) {
  const wasHidden = tokenForm.hidden;
  tokenForm.hidden = false;
  setText(tokenReason, hadToken ? "The hub does not take this token." : "This hub asks for a token.");
  if (wasHidden && document.activeElement === document.body) tokenBox.focus();
  else if (!wasHidden) tokenBox.select();
}
