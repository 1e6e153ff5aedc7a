/**
 * What the manual page says beside what the subcommands' tables do.
 *
 * @module
 */
import type { Words } from "../command.ts";

/** What ollie is, in a few words. */
export const NAME = "an event bus that needs nothing running";

/** What ollie is, in paragraphs. */
export const DESCRIPTION: readonly string[] = [
  "Programs on one machine share a directory: publishing an event puts a file there, and whoever subscribes, now or later, " +
  "gets every event once, in order, to the byte. There is no broker to install, to start or to lose. What has been " +
  "published is kept until somebody removes it.",
  "Where a directory does not reach, ollie serves it: as files that can be mounted, over 9P (serve9p), and to browsers and " +
  "services, over WebSocket and HTTP (hub). What is published in one way is received in every other.",
];

/** What topics are. */
export const TOPICS =
  "A topic is made of segments joined by dots, such as session.abc123.state or message.sent:conv-123. It holds no white " +
  "space, no control character and no empty segment, is at most 200 bytes long, and does not start with __. A filter picks " +
  "topics:";

/** What filters match. */
export const FILTERS: Words = {
  "*": "as a segment: exactly one segment, whatever it is",
  ">": "as the last segment: one segment or more",
  "name:*": "as a segment: name: and any id after it",
  "* or >": "alone: every event",
  "anything else": "itself, exactly: color* is no pattern, color.* and color:* are",
};

/** How buses are addressed. */
export const ADDRESSES: Words = {
  "PATH, dir:PATH": "a directory",
  "mem:": "a bus in memory, which ends with the process that has it",
  "unix:PATH, tcp:HOST:PORT": "a 9P server, such as ollie serve9p",
  "ws://HOST:PORT, wss://HOST": "a hub, such as ollie hub; its token may stand before the host, as in ws://:TOKEN@HOST",
  "nats://HOST:PORT/PREFIX, tls://HOST:PORT/PREFIX":
    "NATS, where a topic is a subject below PREFIX; with several HOSTs, separated by commas, any of them will do, and " +
    "USER:PASSWORD@ may stand before the first. With --stream NAME, a JetStream stream keeps the events.",
};

/** What the exit status tells. */
export const EXIT_STATUS: Words = {
  "0": "all is well",
  "1": "something failed; standard error says what",
  "2": "the command line is wrong; standard error says how",
  "124": "--timeout has passed",
  "130": "it was interrupted",
};

/** What is read from the environment. */
export const ENVIRONMENT: Words = {
  OLLIE_9P: "the address of the 9P server that ollie 9p uses, unless --address gives one",
  NATS_CREDS: "the file with the credentials that are shown to NATS, unless --nats-creds names one",
  NOTIFY_SOCKET: "where ollie hub and ollie serve9p tell a service manager, such as systemd, that they listen",
  NO_COLOR: "if it is set, and not empty, nothing that is printed is in colour or bold",
};

/** Which files there are. */
export const FILES: Words = {
  "BUS/tmp/": "events that are being written",
  "BUS/events/":
    "events that have been published. The name of such a file is the time, as TZ=UTC date --iso-8601=ns prints " +
    "it, then _ and the topic; its content is the payload. Files may be removed at any time.",
  "BUS/pruned": "how far ollie prune and --retain have removed events, once they have",
};
