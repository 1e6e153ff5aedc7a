/** Real shells, asked what they offer on a command line. */
import { within } from "../deadline.ts";
import { has, Running } from "./ollie.ts";

/** The shells that there are completions for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = typeof SHELLS[number];

/** Whether a shell can be asked on this machine; those on whose lines keys are pressed need a terminal, which `script` gives. */
export function canAsk(shell: Shell): boolean {
  const missing = (shell === "fish" ? ["fish"] : [shell, "script"]).filter((program) => !has(program));
  if (missing.length > 0) {
    console.warn(`there is no ${missing.join(" and no ")}: completions for ${shell} are not tested`);
  }
  return missing.length === 0 && Deno.build.os === "linux";
}

/** How a shell is asked. */
export interface Asking {
  /** A file with its completions. */
  readonly script: string;
  /** Where it runs; its home, too. */
  readonly directory: string;
  /** What else it does at its start. */
  readonly setUp?: string;
}

/**
 * What a shell offers for the last word of each of some command lines.
 *
 * @returns for each line the whole words, in the order of their characters, directories without the slash
 */
export async function offersOf(shell: Shell, lines: readonly string[], asking: Asking): Promise<string[][]> {
  const offers = shell === "fish" ? await offersOfFish(lines, asking) : await offersByKeys(shell, lines, asking);
  return offers.map((words) => words.map((word) => word.replace(/(?<!\/)\/$/, "")).sort());
}

async function offersOfFish(lines: readonly string[], { script, directory, setUp = "" }: Asking): Promise<string[][]> {
  const offers = [];
  for (const line of lines) {
    const { stdout, stderr } = await new Deno.Command("fish", {
      args: ["--no-config", "-c", `${setUp}\nsource $argv[1]; complete -C $argv[2]`, script, line],
      cwd: directory,
      env: { HOME: directory },
    }).output();
    if (stderr.length > 0) throw new Error(`fish: ${new TextDecoder().decode(stderr)}`);
    offers.push(
      new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "").map((line) => line.split("\t")[0]),
    );
  }
  return offers;
}

/**
 * How each shell is started so that nothing but what it is told matters, and which keys put all that it offers into the line.
 * None of the keys means anything to a terminal that the shell has not yet taken over.
 */
const BY_KEYS = {
  bash: { start: "bash --norc --noprofile -i", keys: "\x1b*", setUp: "bind 'set enable-bracketed-paste off'" },
  zsh: {
    start: "zsh -f -i",
    keys: "\x18a",
    setUp: [
      "autoload -Uz compinit; compinit -D -u",
      "zstyle ':completion:all:*' completer _all_matches _complete",
      "zstyle ':completion:all:*' insert yes",
      "zle -C all complete-word _generic; bindkey '^Xa' all; bindkey '^Xl' list-choices",
    ].join("; "),
  },
} as const;

/** Types the lines on a terminal, and has all that is offered put into them; a function `ollie` prints what came of that. */
async function offersByKeys(shell: "bash" | "zsh", lines: readonly string[], asking: Asking): Promise<string[][]> {
  const { keys } = BY_KEYS[shell];
  await using running = await startByKeys(shell, asking);
  const offers = [];
  for (const line of lines) {
    await running.write(`${line}${keys}\n`);
    const { line: printed } = await lineThat(running, (line) => line.startsWith("=<"));
    const words = printed.slice(2, -1).split(">=<");
    const typed = line.split(/(?<!\\) /).slice(1);
    const offered = words.slice(typed.length - 1);
    const asIs = offered.length === 1 && offered[0] === typed.at(-1);
    offers.push(asIs ? [] : offered);
  }
  await end(running);
  return offers;
}

/** What zsh lists for the last word of a command line, with the descriptions. */
export async function zshList(line: string, asking: Asking): Promise<string[]> {
  await using running = await startByKeys("zsh", asking);
  await running.write(`${line}\x18l\n`);
  const { before } = await lineThat(running, (line) => line.startsWith("=<"));
  await end(running);
  return before;
}

async function startByKeys(shell: "bash" | "zsh", { script, directory, setUp = ":" }: Asking): Promise<Running> {
  const { start, setUp: ownSetUp } = BY_KEYS[shell];
  const environment = ["TERM=dumb", `HOME=${directory}`, "HISTFILE=/dev/null"];
  const running = new Running(["env", ...environment, "script", "-qec", start, "/dev/null"]);
  await running.write(`PS1=; ${ownSetUp}; cd '${directory}'; ${setUp}; source '${script}'\n`);
  await running.write(`ollie() { printf '=<%s>' "$@"; echo; }\necho rea'dy'\n`);
  await lineThat(running, (line) => line === "ready");
  return running;
}

/** The shell ends by itself, so that nothing of it is left where it ran. */
async function end(running: Running): Promise<void> {
  await running.write("exit\n");
  await within(running.status, "the end of the shell");
}

async function lineThat(
  running: Running,
  isWanted: (line: string) => boolean,
): Promise<{ line: string; before: string[] }> {
  const before: string[] = [];
  for (let line; (line = await running.stdout.next()) !== undefined;) {
    // deno-lint-ignore no-control-regex -- what moves the cursor and sets colours
    const text = line.replace(/\x1b\[[\d;?]*[A-Za-z]|\r/g, "");
    if (isWanted(text)) return { line: text, before };
    before.push(text);
  }
  throw new Error(`the shell ended after ${before.join("\n")}`);
}
