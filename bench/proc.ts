import { readFileSync } from 'node:fs';

/** USER_HZ: /proc reports CPU time in hundredths of a second. */
const TICKS_PER_SECOND = 100;
const KIB_PER_PAGE = 4;

/** CPU seconds of a process so far: user and system time of all threads. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The program name is in brackets and may contain spaces; user and system time are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** CPU seconds of the whole machine, including other processes and the time stolen by other guests. */
export function machineSeconds(): number {
  const [, user, nice, system, , , irq, softirq, steal] = (readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] ?? '')
    .split(/\s+/)
    .map(Number);
  return [user, nice, system, irq, softirq, steal].reduce<number>((sum, ticks = 0) => sum + ticks, 0) / TICKS_PER_SECOND;
}

export function residentKib(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * KIB_PER_PAGE;
}

/** Peak resident memory of a process, in KiB. */
export function peakResidentKib(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
