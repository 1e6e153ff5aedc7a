/** What a running process has taken of the machine, as Linux counts it. */

/** How long a tick is by which the kernel counts, in milliseconds: the same on every platform that Deno runs on. */
const TICK_MS = 10;

/**
 * The time that it has had on a core, in milliseconds: its own and the kernel's on its behalf, in all its threads.
 *
 * @param pid of a process that has not ended
 */
export function cpuOf(pid: number): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/stat`);
  // The second field is the program's name in parentheses, and may hold anything; the fields are counted from behind it.
  const fields = status.slice(status.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/**
 * Its memory now, in MB.
 *
 * @param pid of a process that has not ended
 */
export function memoryOf(pid: number): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}
