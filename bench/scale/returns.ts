/** What it costs when clients come back all at once and ask for what they have missed, which a stream has kept for them. */
import { connect } from "@nats-io/transport-node";
import { temporaryDirectory, timed } from "../measure.ts";
import { NatsServer } from "../nats_server.ts";
import { Client, startHub } from "./client.ts";
import { type Cost, repeated } from "./cost.ts";

const COUNT = 1000;
const PREFIX = "kept";

/** How many events the stream holds besides, about other things. */
const OTHERS = 100_000;

/** Everything about coming back. */
export async function returns(): Promise<Cost[]> {
  using directory = temporaryDirectory();
  await using nats = await NatsServer.start(directory.path);
  await using hub = await startHub("--stream", "KEPT", "--create-stream", `nats://${nats.address}/${PREFIX}`);
  const publisher = await connect({ servers: nats.address });
  for (let i = 0; i < COUNT; i++) publisher.publish(`${PREFIX}.user:${i}`, "missed");
  for (let i = 0; i < OTHERS; i++) publisher.publish(`${PREFIX}.other:${i}`, "of no interest");
  await publisher.flush();
  await publisher.close();
  return await repeated(
    [
      ["to subscribe, and get the one event missed from a stream", "µs CPU in the hub"],
      ["the same", "µs CPU in NATS' server"],
      [`the same, for ${COUNT} at once, until the last has it`, "ms"],
    ],
    async () => {
      const clients = await Client.connectMany(COUNT, `ws://127.0.0.1:${hub.port}/`);
      const [hubBefore, natsBefore] = [hub.cpu, nats.cpu];
      const milliseconds = await timed(() => Promise.all(clients.map((client, i) => client.resume(`user:${i}`))));
      const took = [hub.cpu - hubBefore, nats.cpu - natsBefore].map((cpu) => cpu * 1000 / COUNT);
      for (const client of clients) client.close();
      return [...took, milliseconds];
    },
  );
}
