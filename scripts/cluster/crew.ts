import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunningProcess } from '@switchyard/contracts';
import { StartError } from '@switchyard/service-kit';
import { keepAlive, type Ended, type KeptAlive } from './keep-alive.ts';
import type { Member } from './member.ts';

const TAIL = 2_000;

/** Supervises all processes of a cluster. */
export interface Crew {
  /** Starts the processes. Disposing of the result ends them together. */
  start(members: readonly Member[]): AsyncDisposable;
  /** All running processes, the latest first. */
  processes(): RunningProcess[];
  /** Rejects when a process ends before `complete` was called: the cluster cannot start. */
  readonly broken: Promise<never>;
  /** Ends the start phase: from now on a process that ends is restarted. */
  complete(): void;
}

export interface CrewOptions {
  /** Directory of the logs, one file per replica. */
  logs: string;
  graceMs: number;
  longestWaitMs?: number | undefined;
  /** Called after each start of a process. */
  onChange: () => void;
  say: (line: string) => void;
}

export function openCrew({ logs, graceMs, longestWaitMs, onChange, say }: CrewOptions): Crew {
  const all: KeptAlive[] = [];
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined); // prevents an unhandled rejection before the caller awaits it
  let complete = false;

  async function onEnd({ member, pid, how, code, againInMs, logFrom }: Ended): Promise<void> {
    const { replica } = member;
    const started = complete;
    const words = started && (code ?? 0) === 0 ? '' : await lastWords(getLog(replica), logFrom);
    const wrote = `log: ${getLog(replica)}`;
    if (!started) return broken.reject(new StartError(words || `${replica} ${how}; ${wrote}`));
    say(`${replica} (process ${pid}) ${how}; restarting in ${againInMs} ms; ${words === '' ? '' : `last output: "${words}"; `}${wrote}`);
  }

  function onStart({ replica, restarted }: Member): void {
    // `start` adds the process to the list in this turn of the event loop.
    setImmediate(onChange);
    if (complete) restarted?.().catch((error: unknown) => say(`${replica} was restarted, but its provisioning failed: ${String(error)}`));
  }

  const getLog = (replica: string): string => join(logs, `${replica}.log`);

  return {
    broken: broken.promise,
    start(members) {
      const started = members.map((member) =>
        keepAlive(member, {
          log: getLog(member.replica),
          onStart: () => onStart(member),
          onEnd: (ended) => void onEnd(ended),
          longestWaitMs,
        }),
      );
      all.unshift(...started);
      return {
        async [Symbol.asyncDispose]() {
          await Promise.all(
            started.map(async (one) => {
              const { forced } = await one.end(graceMs);
              if (forced) say(`${one.member.replica} did not exit within ${graceMs / 1_000} s and was killed; log: ${one.log}`);
            }),
          );
        },
      };
    },
    processes: () =>
      all.flatMap((one) => {
        const { service, replica, ports } = one.member;
        const pid = one.pid();
        return pid === undefined ? [] : [{ service, replica, pid, ports, log: one.log }];
      }),
    complete: () => void (complete = true),
  };
}

/** Returns the last plain line that a run wrote, or an empty text. Log records (JSON) and stack frames do not count. */
async function lastWords(log: string, from: number): Promise<string> {
  const lines = (await readTail(log, from)).trim().split('\n');
  return lines.findLast((line) => /^[^{\s]/.test(line)) ?? '';
}

async function readTail(log: string, from: number): Promise<string> {
  try {
    await using file = await open(log);
    const { size } = await file.stat();
    const start = Math.max(from, size - TAIL);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size - start), position: start });
    return buffer.toString('utf8', 0, bytesRead);
  } catch {
    return '';
  }
}
