import { narrowings, staleLock, type ContractsLock } from '@switchyard/contracts';

export interface Asked {
  write: boolean;
  /** Why a promise is taken back; empty when none is. */
  why: string;
  /** Today, as the record names it. */
  day: string;
}

export interface Decision {
  write: boolean;
  /** What the record of promises taken back gets at its end. */
  record?: string;
  /** Why nothing is written, and what to do. */
  refuse?: string;
}

/** A lock takes in what only adds. What breaks a promise it takes in with a reason alone, and the reason is kept with each sentence. */
export function decideLock(lock: ContractsLock, present: ContractsLock, { write, why, day }: Asked): Decision {
  const advice = staleLock(lock, present);
  if (advice === undefined) return { write: false };
  if (!write) return { write: false, refuse: advice };
  const broken = narrowings(lock, present);
  if (broken.length === 0) return { write: true };
  const reason = why.replace(/\s+/g, ' ').trim();
  if (reason === '') return { write: false, refuse: advice };
  return { write: true, record: [`${day} ${reason}`, ...broken.map((sentence) => `  ${sentence}`), '', ''].join('\n') };
}
