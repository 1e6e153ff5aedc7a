/**
 * The subprotocols that a client offers to a hub, in `Sec-WebSocket-Protocol`.
 *
 * @module
 */

/** Of those who take several envelopes in a frame, a line each. */
export const BATCH_PROTOCOL = "ollie.batch.v1";

/** Of those who take one, and have to name a protocol since they offer a token as another. */
export const PLAIN_PROTOCOL = "ollie.v1";

/** What a token follows, where it is offered as a subprotocol: a browser cannot send headers with a WebSocket. */
export const TOKEN_PROTOCOL_PREFIX = "ollie.token.";
