/** A directory as a bus: how fast events go in and come out, how late they come, and what a very large one costs. */
import { DirectoryBus } from "../mod.ts";
import { CLI, execute, median, quantile, type Row, RUN, startSub, temporaryDirectory, timed } from "./measure.ts";

/** The least that a program in Deno can do: no lock on a name, no look whether it is taken, no line to read. */
const BARE_LOOP = `
  const [path, count] = Deno.args;
  const payload = new TextEncoder().encode("a line of some thirty characters");
  Deno.mkdirSync(path + "/tmp", { recursive: true });
  Deno.mkdirSync(path + "/events", { recursive: true });
  for (let i = 0; i < Number(count); i++) {
    const name = "2026-05-08T12:34:56," + String(i).padStart(9, "0") + "+00:00_n";
    Deno.writeFileSync(path + "/tmp/" + name, payload);
    Deno.renameSync(path + "/tmp/" + name, path + "/events/" + name);
  }`;

/** `ollie pub --lines`, against the shell pipeline and against a bare loop that writes and renames. */
export async function publishing(): Promise<Row[]> {
  using directory = temporaryDirectory();
  const count = 20_000;
  const lines = `${directory.path}/lines`;
  Deno.writeTextFileSync(lines, "a line of some thirty characters\n".repeat(count));
  const script = `for i in $(seq 200); do
    DATE=$(TZ=UTC date --iso-8601=ns) && mkdir -p "$1/tmp" && mkdir -p "$1/events" &&
    echo "a line of some thirty characters" | cat > "$1/tmp/\${DATE}_n" && mv --no-clobber "$1/tmp/\${DATE}_n" "$1/events"
  done`;
  const bareLoop = `${directory.path}/bare.ts`;
  Deno.writeTextFileSync(bareLoop, BARE_LOOP);
  const ollie = (path: string) =>
    execute(["sh", "-c", `exec "$@" < '${lines}'`, "-", ...RUN, CLI, "pub", "--lines", path, "n"]);

  // In turn, each into a directory of its own, since a directory's size and the disk's mood weigh on all of them.
  const took: Record<"ollie" | "bare" | "shell", number[]> = { ollie: [], bare: [], shell: [] };
  for (let round = 0; round < 5; round++) {
    const path = (name: string) => `${directory.path}/${name}${round}`;
    took.ollie.push(await timed(() => ollie(path("ollie"))) / count);
    took.bare.push(await timed(() => execute([...RUN, bareLoop, path("bare"), `${count}`])) / count);
    took.shell.push(await timed(() => execute(["sh", "-c", script, "-", path("shell")])) / 200);
  }
  const [ours, bare, shell] = [took.ollie, took.bare, took.shell].map(median);
  const rate = `${Math.round(1000 / ours).toLocaleString("en")} events/s`;
  return [
    {
      what: "`ollie pub --lines`",
      reach: "at least 100 × the shell pipeline",
      measured: `${Math.round(shell / ours)} × (${rate})`,
    },
    {
      what: "`ollie pub --lines`",
      reach: "at least 0.6 × a bare loop of write and rename",
      measured: `${(bare / ours).toFixed(2)} ×`,
    },
  ];
}

/** 100,000 events of the past through `ollie sub -m`. */
export async function replay(): Promise<Row[]> {
  using directory = temporaryDirectory();
  const bus = new DirectoryBus(directory.path);
  const count = 100_000;
  for (let i = 0; i < count; i++) await bus.publish("n", `${i}\n`);
  const rates = [];
  for (let round = 0; round < 3; round++) {
    const took = await timed(() => execute([...RUN, CLI, "sub", "-m", "-c", `${count}`, directory.path]));
    rates.push(count / took * 1000);
  }
  return [{
    what: "replay of 100,000 events through `ollie sub -m`, start-up and listing included",
    reach: "at least 20,000 events/s",
    measured: `${Math.round(median(rates)).toLocaleString("en")} events/s`,
  }];
}

/** From the call of `publish` in one process to the line that `ollie sub` in another has printed. */
export async function latency(): Promise<Row[]> {
  using directory = temporaryDirectory();
  const bus = new DirectoryBus(directory.path);
  const sub = await startSub("-m", directory.path);
  const sent: number[] = [];
  const took: number[] = [];
  const count = 1000;
  const reading = (async () => {
    let begun = "";
    for await (const chunk of sub.stdout) {
      const lines = (begun + new TextDecoder().decode(chunk)).split("\n");
      begun = lines.pop() ?? "";
      for (const line of lines) took.push(performance.now() - sent[Number(line)]);
      if (took.length === count) return;
    }
  })();
  for (let i = 0; i < count; i++) {
    sent.push(performance.now());
    await bus.publish("n", `${i}\n`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await reading;
  sub.kill();
  await sub.status;
  return [{
    what: "live, from `publish` to the line printed by `ollie sub` in another process, 100 events/s",
    reach: "median at most 2 ms, 99th percentile at most 10 ms",
    measured: `${median(took).toFixed(2)} ms, ${quantile(took, 0.99).toFixed(2)} ms`,
  }];
}

/** `ollie sub -m -n` on a directory that already holds a million events, while 10 new ones a second come. */
export async function million(): Promise<Row[]> {
  using directory = temporaryDirectory();
  const bus = new DirectoryBus(directory.path);
  for (let i = 0; i < 1_000_000; i++) await bus.publish("n", "old\n");
  const sub = await startSub("-m", "-n", directory.path);
  let lines = 0;
  const reading = (async () => {
    for await (const chunk of sub.stdout) lines += chunk.filter((byte) => byte === 10).length;
  })();
  const cpu = () => {
    const fields = Deno.readTextFileSync(`/proc/${sub.pid}/stat`).split(") ")[1].split(" ");
    // utime and stime, in hundredths of a second.
    return (Number(fields[11]) + Number(fields[12])) / 100;
  };
  const before = cpu();
  const seconds = 240;
  const began = performance.now();
  let sent = 0;
  for (; performance.now() - began < seconds * 1000; sent++) {
    await bus.publish("n", "new\n");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const used = (cpu() - before) / (performance.now() - began) * 1000;
  const peak = Number(/VmHWM:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${sub.pid}/status`))?.[1]) / 1024;
  sub.kill();
  await reading;
  if (lines !== sent) throw new Error(`${lines} of ${sent} events came`);
  return [{
    what: "`ollie sub -m -n` on a directory of 1,000,000 events, 10 new ones a second, for four minutes",
    reach: "under 200 MB, under 5 % of a core",
    measured: `${Math.round(peak)} MB, ${(used * 100).toFixed(1)} %`,
  }];
}
