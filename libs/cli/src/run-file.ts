import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One process of the run file. */
export interface RunningProcess {
  service: string;
  replica: string;
  pid: number;
  ports: Readonly<Record<string, number>>;
  log: string;
}

/** What the server wrote down about itself for scripts. */
export interface RunFile {
  url: string;
  processes: readonly RunningProcess[];
}

/** The run file of a data directory. One that is missing, half written or of another shape says nothing. */
export function readRunFile(data: string): RunFile | undefined {
  let text: string;
  try {
    text = readFileSync(join(data, 'run.json'), 'utf8');
  } catch {
    return undefined;
  }
  const parsed = parseJson(text);
  if (!isObject(parsed) || typeof parsed['url'] !== 'string' || !URL.canParse(parsed['url'])) return undefined;
  const { url, processes } = parsed;
  return { url, processes: Array.isArray(processes) ? processes.filter(isProcess) : [] };
}

function isProcess(value: unknown): value is RunningProcess {
  if (!isObject(value)) return false;
  const { service, replica, pid, ports, log } = value;
  return [service, replica, log].every((text) => typeof text === 'string') && Number.isInteger(pid) && isObject(ports);
}

/** Whether the process is there. One of another user is, though it may not be signalled. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** JSON, or undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
