/** The files of a directory bus, as a test makes them and looks at them. */
import { formatName } from "../../../lib/bus/directory/name.ts";

/** The name of an event so many milliseconds after some moment long ago. */
export function nameAt(milliseconds: number, topic = "n"): string {
  return formatName(1_777_777_777_000_000_000n + BigInt(milliseconds) * 1_000_000n, topic);
}

/** Makes events, each with its name as its payload, or the payload given. */
export function make(bus: string, names: readonly string[], payload?: string): void {
  Deno.mkdirSync(`${bus}/events`, { recursive: true });
  for (const name of names) {
    Deno.writeTextFileSync(`${bus}/events/${name}`, payload ?? name);
    // As old as it says, where that is possible.
    const time = new Date(`${name.slice(0, 19)}Z`);
    Deno.utimeSync(`${bus}/events/${name}`, time, time);
  }
}

/** The names of the events that there are, in order. */
export function namesIn(bus: string): string[] {
  return Array.from(Deno.readDirSync(`${bus}/events`), ({ name }) => name).sort();
}
