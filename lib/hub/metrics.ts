/**
 * The hub's counters, as Prometheus reads them: its text format, version 0.0.4.
 *
 * @module
 */
import type { HubStats } from "./hub.ts";

/** What a server has to tell besides what its hub counts. */
export interface ServerStats {
  /** How many streams of Server-Sent Events there are. */
  readonly streams: number;
  /** How many sockets are open, also of connections that have ended but whose peers keep them from closing. */
  readonly sockets: number;
}

/**
 * Writes them.
 *
 * @param hub what the hub has counted
 * @param server what its server has
 */
export function metricsText(hub: HubStats, server: ServerStats): string {
  const metrics: readonly (readonly [name: string, type: "gauge" | "counter", help: string, value: number])[] = [
    ["ollie_connections", "gauge", "WebSocket connections.", hub.connections],
    ["ollie_sockets", "gauge", "WebSockets that have not closed, their connections ended or not.", server.sockets],
    ["ollie_streams", "gauge", "Streams of Server-Sent Events.", server.streams],
    ["ollie_subscriptions", "gauge", "Filters that connections are subscribed to.", hub.subscriptions],
    ["ollie_events_published_total", "counter", "Events published through this hub.", hub.published],
    ["ollie_received_bytes_total", "counter", "Bytes received over WebSockets.", hub.receivedBytes],
    ["ollie_events_delivered_total", "counter", "Events sent, once for each connection.", hub.delivered],
    ["ollie_delivered_bytes_total", "counter", "Bytes of events sent over WebSockets.", hub.deliveredBytes],
    ["ollie_slow_consumers_total", "counter", "Connections ended because they read too slowly.", hub.slowConsumers],
    ["ollie_errors_total", "counter", "Errors that clients were told of.", hub.errors],
    ["ollie_queued_bytes", "gauge", "Bytes that wait for connections.", hub.queuedBytes],
    ["ollie_queued_bytes_max", "gauge", "Bytes that wait for the connection for which most do.", hub.maxQueuedBytes],
  ];
  return metrics.map(([name, type, help, value]) =>
    `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name} ${value}\n`
  )
    .join("");
}
