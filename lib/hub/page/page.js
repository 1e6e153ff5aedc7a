// @ts-check
/// <reference lib="dom" />
/**
 * The dashboard of a hub: what is on its bus, as it comes. This puts the parts of the page together.
 *
 * @module
 */
import { drawChart, SECONDS } from "./chart.js";
import { Connection } from "./connection.js";
import { filtersOf } from "./filter.js";
import { FilterBox } from "./filter_box.js";
import { part, setText } from "./parts.js";
import { enablePublisher, startPublisher } from "./publisher.js";
import { Seconds } from "./seconds.js";
import { hideNotice, showNotice, showState, startStatus } from "./status.js";
import { Tail } from "./tail.js";
import { TopicTable } from "./topic_table.js";
import { Topics } from "./topics.js";
import { clockText, countText, millisecondsOf } from "./words.js";

/** How many topics are counted: some megabytes' worth. */
const MAX_TOPICS = 20_000;

const received = part("received", HTMLElement);
const seconds = new Seconds(SECONDS, secondOf(Date.now()));
const topics = new Topics(MAX_TOPICS, secondOf(Date.now()));
let count = 0;
/** Whether all events may not be read, so that the filter is what the hub is asked for. */
let isRestricted = false;
let wasConnected = false;
let lostAt = "";

const filterBox = new FilterBox((wanted, text) => {
  tail.filter(wanted);
  if (!isRestricted || text === "") return;
  hideNotice();
  connection.ask(filtersOf(text));
});
const only = (/** @type {string} */ topic) => filterBox.set(topic);
const tail = new Tail(only);
const table = new TopicTable(topics, only);

const connection = new Connection({
  state(state) {
    advance(Date.now());
    if (wasConnected && state.is !== "connected") lostAt = new Date().toLocaleTimeString("en-GB");
    wasConnected = state.is === "connected";
    showState(state);
    enablePublisher(connection.isOpen);
  },
  event({ topic, time, line, tense }) {
    const now = Date.now();
    advance(now);
    count++;
    const published = millisecondsOf(time);
    topics.add(topic, published, tense === "live");
    if (tense !== "past") seconds.add(secondOf(tense === "live" ? now : published));
    tail.add({ topic, time, line });
  },
  lost() {
    showNotice(`Events may have been missed: the connection was lost at ${lostAt}, and the hub's bus keeps none.`);
  },
  gap(until) {
    const last = clockText(millisecondsOf(until), Date.now());
    showNotice(`Events are missing, the last from ${last}: they were removed before this page could have them.`);
  },
  forbidden(reason) {
    isRestricted = true;
    showNotice(`The hub refuses: ${reason}. The filter can ask for what you may read.`);
  },
  trouble(reason) {
    showNotice(`The hub says: ${reason}`);
  },
});

part("host", HTMLElement).textContent = location.host;
document.title = `Ollie on ${location.host}`;
part("clear", HTMLButtonElement).addEventListener("click", () => tail.clear());
startPublisher(connection);
startStatus(connection);
connection.connectNow();
tick();

/** Draws what changes with time, at the start of every second. */
function tick() {
  const now = Date.now();
  advance(now);
  if (!document.hidden) {
    drawChart(seconds.list());
    table.draw();
    setText(received, countText(count));
  }
  setTimeout(tick, 1010 - now % 1000);
}

/** @param {number} now */
function advance(now) {
  topics.advance(secondOf(now));
  seconds.advance(secondOf(now), wasConnected);
}

/** @param {number} milliseconds */
function secondOf(milliseconds) {
  return Math.floor(milliseconds / 1000);
}
