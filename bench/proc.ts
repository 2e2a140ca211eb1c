import { readFileSync } from 'node:fs';

/** Linux counts processor time in hundredths of a second for every reader. */
const TICKS_PER_SECOND = 100;
const KIB_PER_PAGE = 4;

/** Processor seconds used so far, user and system, all threads. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program stands in brackets and may hold anything; user and system time are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Processor seconds that the whole machine has spent on anything, our own work and that of other tenants included. */
export function machineSeconds(): number {
  const [, user, nice, system, , , irq, softirq, steal] = (readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] ?? '')
    .split(/\s+/)
    .map(Number);
  return [user, nice, system, irq, softirq, steal].reduce<number>((sum, ticks = 0) => sum + ticks, 0) / TICKS_PER_SECOND;
}

export function residentKib(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * KIB_PER_PAGE;
}

/** The most it ever was. */
export function peakResidentKib(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
