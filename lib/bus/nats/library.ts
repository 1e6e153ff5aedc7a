/**
 * What is used of the NATS client, which is the only code of others at run time. It is named here and nowhere else, so that one
 * line says which release it is, and so that nothing but a `nats:` bus loads it.
 *
 * @module
 */
export { connect, credsAuthenticator, errors, headers } from "npm:@nats-io/transport-node@^3.4.0";
export type { ConnectionOptions, Msg, MsgHdrs, NatsConnection, Subscription } from "npm:@nats-io/transport-node@^3.4.0";
export {
  AckPolicy,
  DeliverPolicy,
  JetStreamApiError,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from "npm:@nats-io/jetstream@^3.4.0";
export type { ConsumerConfig, JetStreamManager, StreamInfo } from "npm:@nats-io/jetstream@^3.4.0";
