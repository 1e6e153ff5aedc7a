/** A NATS server's operator, an account and a user, made up: what `nsc` does, as far as a test needs it. */
import { createAccount, createOperator, createUser, type KeyPair } from "@nats-io/nkeys";

/** What lets a user in at a server. */
export interface Credentials {
  /** Lines of the server's configuration. */
  readonly config: string;
  /** What the user's credentials file holds. */
  readonly credentials: string;
}

/** Makes them. */
export function makeCredentials(): Credentials {
  const [operator, account, user] = [createOperator(), createAccount(), createUser()];
  const accountToken = token(operator, account, { type: "account", limits: UNLIMITED });
  const userToken = token(account, user, { type: "user", subs: -1, data: -1, payload: -1 });
  const seed = new TextDecoder().decode(user.getSeed());
  return {
    config: `operator: ${token(operator, operator, { type: "operator" })}
resolver: MEMORY
resolver_preload: { ${account.getPublicKey()}: ${accountToken} }`,
    credentials: `-----BEGIN NATS USER JWT-----
${userToken}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
${seed}
------END USER NKEY SEED------
`,
  };
}

const UNLIMITED = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };

/** Says, and signs, that somebody is what the claims say. */
function token(issuer: KeyPair, subject: KeyPair, claims: object): string {
  const body = {
    jti: crypto.randomUUID(),
    iat: Math.floor(Date.now() / 1000),
    iss: issuer.getPublicKey(),
    name: "test",
    sub: subject.getPublicKey(),
    nats: { version: 2, ...claims },
  };
  const signed = `${encoded(JSON.stringify({ typ: "JWT", alg: "ed25519-nkey" }))}.${encoded(JSON.stringify(body))}`;
  return `${signed}.${encoded(issuer.sign(new TextEncoder().encode(signed)))}`;
}

function encoded(data: string | Uint8Array): string {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
