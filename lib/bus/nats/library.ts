/**
 * What is used of the NATS client, which is the only code of others at run time. It is named here and nowhere else, so that one
 * line says which release it is, and so that nothing but a NATS bus loads it.
 *
 * @module
 */
export { credsAuthenticator, errors, headers } from "npm:@nats-io/nats-core@^3.4.0";
export type { ConnectionOptions, Msg, MsgHdrs, NatsConnection, Subscription } from "npm:@nats-io/nats-core@^3.4.0";
// What transports are made of, and connections with them.
export { checkOptions, NatsConnectionImpl, setTransportFactory } from "npm:@nats-io/nats-core@^3.4.0/internal";
export type { Server, Transport } from "npm:@nats-io/nats-core@^3.4.0/internal";
export {
  AckPolicy,
  DeliverPolicy,
  JetStreamApiError,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from "npm:@nats-io/jetstream@^3.4.0";
export type { ConsumerConfig, JetStreamManager, StreamInfo } from "npm:@nats-io/jetstream@^3.4.0";
