import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Member } from './member.ts';

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
/** Who lived this long is not in a loop. */
const STEADY_MS = 30_000;

export interface Ended {
  member: Member;
  pid: number | undefined;
  /** In words: `ended with code 1`. */
  how: string;
  /** Undefined where a signal ended it, or it never ran. */
  code: number | undefined;
  /** Where in its log begins what this run wrote. */
  logFrom: number;
  againInMs: number;
}

export interface KeepAliveOptions {
  /** What it writes is added to this file. */
  log: string;
  /** Called with the process id of each start. */
  onStart: (pid: number) => void;
  /** Called when it ended without being told to. */
  onEnd: (ended: Ended) => void;
  firstWaitMs?: number;
  longestWaitMs?: number | undefined;
}

/** A process that is started again whenever it ends, ever more slowly while it does not stay. */
export interface KeptAlive {
  readonly member: Member;
  readonly log: string;
  /** Of the last start. */
  pid(): number | undefined;
  /** Tells it to end, and makes it after a while; resolves when it is gone, with whether it had to be made. */
  end(graceMs: number): Promise<{ forced: boolean }>;
}

/** Nothing outlives the launcher as long as the launcher can help it. */
const living = new Set<ChildProcess>();
process.on('exit', () => living.forEach((child) => child.kill('SIGKILL')));

export function keepAlive(member: Member, options: KeepAliveOptions): KeptAlive {
  const { log, onStart, onEnd, firstWaitMs = FIRST_WAIT_MS, longestWaitMs = LONGEST_WAIT_MS } = options;
  const ending = new AbortController();
  let child: ChildProcess | undefined;
  let pid: number | undefined;

  async function run(): Promise<void> {
    for (let failures = 0; !ending.signal.aborted;) {
      const began = performance.now();
      const launched = launch(member, log);
      ({ child } = launched);
      pid = child.pid ?? pid;
      if (child.pid !== undefined) onStart(child.pid);
      const ended = await endOf(child);
      child = undefined;
      if (ending.signal.aborted) return;
      failures = performance.now() - began > STEADY_MS ? 0 : failures;
      const againInMs = Math.min(firstWaitMs * 2 ** failures++, longestWaitMs);
      onEnd({ ...ended, member, pid, againInMs, logFrom: launched.logFrom });
      await sleep(againInMs, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  }

  const gone = run();
  return {
    member,
    log,
    pid: () => pid,
    async end(graceMs) {
      ending.abort();
      child?.kill('SIGTERM');
      const forced = !(await Promise.race([gone.then(() => true), sleep(graceMs, false, { ref: false })]));
      if (forced) child?.kill('SIGKILL');
      await gone;
      return { forced };
    },
  };
}

/** In a process group of its own: a Ctrl-C in the terminal is for the launcher, which ends the others in their order. */
function launch(
  { command: [program = '', ...args], env, readsInput = false }: Member,
  log: string,
): { child: ChildProcess; logFrom: number } {
  const file = openSync(log, 'a', 0o600);
  try {
    const logFrom = fstatSync(file).size;
    const child = spawn(program, args, { env, stdio: [readsInput ? 'pipe' : 'ignore', file, file], detached: true });
    child.stdin?.on('error', () => undefined);
    living.add(child);
    return { child, logFrom };
  } finally {
    closeSync(file);
  }
}

async function endOf(child: ChildProcess): Promise<Pick<Ended, 'how' | 'code'>> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return { code: code ?? undefined, how: signal === null ? `ended with code ${code}` : `was ended by ${signal}` };
  } catch (error) {
    return { code: undefined, how: `cannot be run (${error instanceof Error ? error.message : String(error)})` };
  } finally {
    living.delete(child);
  }
}
