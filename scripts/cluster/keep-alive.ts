import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Member } from './member.ts';

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
/** A process that ran this long is stable: its restart delay starts at the minimum again. */
const STEADY_MS = 30_000;

export interface Ended {
  member: Member;
  pid: number | undefined;
  /** Text for the log, such as `ended with code 1`. */
  how: string;
  /** Undefined when a signal ended the process or it did not start. */
  code: number | undefined;
  /** Offset in the log at which the output of this run begins. */
  logFrom: number;
  againInMs: number;
}

export interface KeepAliveOptions {
  /** File to which the output is appended. */
  log: string;
  /** Called with the process id of each start. */
  onStart: (pid: number) => void;
  /** Called when the process ends without a request. */
  onEnd: (ended: Ended) => void;
  firstWaitMs?: number;
  longestWaitMs?: number | undefined;
}

/** A process that is restarted whenever it ends. The delay doubles while it keeps ending early. */
export interface KeptAlive {
  readonly member: Member;
  readonly log: string;
  /** Process id of the latest start. */
  pid(): number | undefined;
  /** Sends SIGTERM, and SIGKILL after the grace period. `forced` says whether SIGKILL was needed. */
  end(graceMs: number): Promise<{ forced: boolean }>;
}

/** Children that are killed when the launcher exits. */
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
      const ended = await getEnd(child);
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

/** Starts a new process group, so that Ctrl-C reaches only the launcher, which ends the processes in order. */
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

async function getEnd(child: ChildProcess): Promise<Pick<Ended, 'how' | 'code'>> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return { code: code ?? undefined, how: signal === null ? `ended with code ${code}` : `was ended by ${signal}` };
  } catch (error) {
    return { code: undefined, how: `cannot be run (${error instanceof Error ? error.message : String(error)})` };
  } finally {
    living.delete(child);
  }
}
