import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunningProcess } from '@switchyard/contracts';
import { StartError } from '@switchyard/service-kit';
import { keepAlive, type Ended, type KeptAlive } from './keep-alive.ts';
import type { Member } from './member.ts';

const TAIL = 2_000;

/** All processes of a cluster, kept alive. */
export interface Crew {
  /** Starts them; they are ended together, when this part of the crew is disposed of. */
  start(members: readonly Member[]): AsyncDisposable;
  /** Everything that runs, what was started last first. */
  processes(): RunningProcess[];
  /** Rejects when one of them ends before the crew is complete: trying again would not help. */
  readonly broken: Promise<never>;
  /** From now on whoever ends is started again, and that is all. */
  complete(): void;
}

export interface CrewOptions {
  /** A log for each goes into this directory. */
  logs: string;
  graceMs: number;
  longestWaitMs?: number | undefined;
  /** Called whenever one was started. */
  onChange: () => void;
  say: (line: string) => void;
}

export function openCrew({ logs, graceMs, longestWaitMs, onChange, say }: CrewOptions): Crew {
  const all: KeptAlive[] = [];
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined); // nobody may be waiting for it yet
  let complete = false;

  async function onEnd({ member, pid, how, code, againInMs, logFrom }: Ended): Promise<void> {
    const { replica } = member;
    const started = complete;
    const words = started && (code ?? 0) === 0 ? '' : await lastWords(logOf(replica), logFrom);
    const wrote = `it wrote ${logOf(replica)}`;
    if (!started) return broken.reject(new StartError(words || `${replica} ${how}; ${wrote}`));
    say(
      `${replica} (process ${pid}) ${how} and is started again in ${againInMs} ms; ${words === '' ? '' : `it said "${words}", and `}${wrote}`,
    );
  }

  function onStart({ replica, restarted }: Member): void {
    // After this turn of the event loop what has just been started is among the crew.
    setImmediate(onChange);
    if (complete) restarted?.().catch((error: unknown) => say(`${replica} is there again, but not as it was: ${String(error)}`));
  }

  const logOf = (replica: string): string => join(logs, `${replica}.log`);

  return {
    broken: broken.promise,
    start(members) {
      const started = members.map((member) =>
        keepAlive(member, {
          log: logOf(member.replica),
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
              if (forced) say(`${one.member.replica} did not end within ${graceMs / 1_000} s and was killed; it wrote ${one.log}`);
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

/** The sentence with which a run gave up that began there in its log, if it left one. */
async function lastWords(log: string, from: number): Promise<string> {
  const lines = (await readTail(log, from)).trim().split('\n');
  // Neither a line of the log, nor where in the code it was.
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
