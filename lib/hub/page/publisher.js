// @ts-check
/// <reference lib="dom" />
/**
 * The form that publishes an event, and says beside it what became of it.
 *
 * @module
 */
import { part, setText } from "./parts.js";
import { isJson } from "./payload.js";
import { clockText, millisecondsOf } from "./words.js";

const form = part("publish", HTMLFormElement);
const topicBox = part("publish-topic", HTMLInputElement);
const payloadBox = part("publish-payload", HTMLTextAreaElement);
const button = part("publish-button", HTMLButtonElement);
const outcome = part("publish-outcome", HTMLOutputElement);

/** @typedef {import("./connection.js").Connection} Connection */

/**
 * Makes the form work.
 *
 * @param {Connection} connection
 */
export function startPublisher(connection) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    publish(connection);
  });
  payloadBox.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
}

/**
 * Lets the form be used, or not. The button can have the focus all the same, and says why nothing happens.
 *
 * @param {boolean} connected
 */
export function enablePublisher(connected) {
  button.setAttribute("aria-disabled", String(!connected));
}

/** @param {Connection} connection */
async function publish(connection) {
  const topic = topicBox.value.trim();
  const problem = problemWith(topic);
  if (problem !== undefined) return tell(problem, "bad");
  tell("Publishing…", "busy");
  try {
    const { time } = await connection.publish(topic, members(payloadBox.value));
    tell(`Published at ${clockText(millisecondsOf(time), Date.now())}`, "good");
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error), "bad");
  }
}

/**
 * What the hub would not tell, or would take for something else. All else is the hub's to judge.
 *
 * @param {string} topic
 */
function problemWith(topic) {
  if (topic === "") return "Which topic? Such as color, or session.abc123.state.";
  if (topic.startsWith("__")) {
    return `The topic ${JSON.stringify(topic)} starts with "__", which is reserved for control.`;
  }
  if (kind() === "json" && !isJson(payloadBox.value)) return `This is not JSON: ${reasonNotJson(payloadBox.value)}`;
}

function kind() {
  return new FormData(form).get("kind");
}

/**
 * What an envelope says of a payload. Text is published to the byte, whatever it looks like; JSON as it was written, but for
 * white space.
 *
 * @param {string} payload
 */
function members(payload) {
  if (kind() === "json") return `"payload":${payload.trim().replace(/[\r\n]+/g, " ")}`;
  if (!isJson(payload)) return `"payload":${JSON.stringify(payload)}`;
  const bytes = Array.from(new TextEncoder().encode(payload), (byte) => String.fromCharCode(byte)).join("");
  return `"payload":null,"payload_base64":"${btoa(bytes)}"`;
}

/** @param {string} text */
function reasonNotJson(text) {
  try {
    JSON.parse(text);
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  return "";
}

/**
 * @param {string} text
 * @param {"good" | "bad" | "busy"} how
 */
function tell(text, how) {
  outcome.dataset.how = how;
  setText(outcome, text);
}
