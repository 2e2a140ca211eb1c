import { findNarrowings, findStaleEntries, type ContractsLock } from '@switchyard/contracts';

export interface LockOptions {
  write: boolean;
  /** Whether CHANGELOG.md has a new line under "Unreleased". */
  changelogExtended: boolean;
}

export interface LockDecision {
  write: boolean;
  /** The reason for leaving the snapshots unchanged, and the remedy. */
  refusal?: string;
}

/** Decides whether the snapshots may be rewritten. A change that breaks a promise needs a line in the changelog. */
export function decideLock(lock: ContractsLock, present: ContractsLock, { write, changelogExtended }: LockOptions): LockDecision {
  const advice = findStaleEntries(lock, present);
  if (advice === undefined) return { write: false };
  if (!write) return { write: false, refusal: advice };
  const breaking = findNarrowings(lock, present).length > 0;
  return breaking && !changelogExtended ? { write: false, refusal: advice } : { write: true };
}
