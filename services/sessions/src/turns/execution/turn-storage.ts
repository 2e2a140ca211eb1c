import type { SessionDocument } from '../../model/session-document.ts';
import type { TurnTotals } from '../../queue/session-queue.ts';
import { freeStorage } from '../../sessions/session-reset.ts';
import { countSessionBytes } from '../../storage/stored-bytes.ts';
import type { StorageQuota } from '../../storage/storage-quota.ts';

interface CountTurnOptions {
  /** Session document before the turn was dequeued. */
  session: SessionDocument;
  totals: TurnTotals | undefined;
  isReset: boolean;
}

/** Counts the messages and tool results of a turn towards the storage quota, or subtracts the transcript that the turn has reset. */
export function countTurnStorage(
  deps: { storage?: Pick<StorageQuota, 'add'> },
  tenant: string,
  { session, totals, isReset }: CountTurnOptions,
): void {
  if (isReset) return freeStorage(deps, tenant, session);
  if (totals === undefined) return;
  const { chars, extraChars, messages } = totals;
  deps.storage?.add({ tenant, client: session.createdBy }, countSessionBytes({ chars, extraChars, messageCount: messages }));
}
