/** A link from a directory to a JetStream stream: how fast what has been published, and what is, gets there. */
import { connect } from "@nats-io/transport-node";
import { jetstreamManager } from "@nats-io/jetstream";
import { DirectoryBus } from "../mod.ts";
import { CLI, median, type Row, RUN, temporaryDirectory, thousands, timed } from "./measure.ts";
import { NatsServer } from "./nats_server.ts";
import { has } from "./server.ts";

const ROUNDS = 3;
const EVENTS = 100_000;
const PAYLOAD = new Uint8Array(100).fill(120);

/** `ollie link --cursor`, from a directory of 100,000 events. */
export async function link(): Promise<Row[]> {
  if (!has("nats-server")) {
    console.error("without nats-server, a link to JetStream is not measured");
    return [];
  }
  using directory = temporaryDirectory();
  await using server = await NatsServer.start(directory.path);
  const nats = await connect({ servers: server.address });
  const { streams } = await jetstreamManager(nats);
  const source = `${directory.path}/bus`;
  const bus = new DirectoryBus(source);
  for (let i = 0; i < EVENTS; i++) await bus.publish("color.red", PAYLOAD);
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const stream = `LINK${round}`;
    const [program, ...args] = [
      ...[...RUN, "--allow-net", CLI, "link", "--cursor", `${directory.path}/cursor${round}`],
      ...["--stream", stream, "--create-stream", source, `nats://${server.address}/link${round}`],
    ];
    const child = new Deno.Command(program, { args, stdout: "null", stderr: "inherit" }).spawn();
    let hasEnded = false;
    child.status.then(() => hasEnded = true);
    const took = await timed(async () => {
      while (!hasEnded && await countOf(stream) < EVENTS) await new Promise((resolve) => setTimeout(resolve, 20));
    });
    if (hasEnded) throw new Error("ollie link ended");
    child.kill();
    await child.status;
    rates.push(EVENTS / took * 1000);
  }
  await nats.close();
  return [{
    what:
      "`ollie link --cursor` of 100,000 events of 100 bytes from a directory to JetStream, start-up and listing included",
    reach: "at least 10,000 events/s",
    measured: `${thousands(median(rates))} events/s`,
  }];

  /** How many events a stream has, which need not be there yet. */
  async function countOf(name: string): Promise<number> {
    try {
      return (await streams.info(name)).state.messages;
    } catch {
      return 0;
    }
  }
}
