import { deriveKey, mintSealingKey, seal, textMac, unseal, type SealingKey } from '@switchyard/security';
import { StartError } from '@switchyard/service-kit';
import { inserted, type Documents, type Store } from '@switchyard/store';
import type { DataKeyDocument } from '../documents/collections.ts';

const ONLY = 'dek-1';

/** The keys of the operator: the one in force, and the one before it, which only opens. */
export interface MasterKeys {
  current: SealingKey;
  previous: SealingKey | undefined;
}

const AUDIT = 'switchyard/audit/v1';

/** What the record of what was done is sealed with, and since when: 0 where nobody can say, so that nothing passes without. */
export interface AuditSeal {
  key: Uint8Array;
  since: number;
}

/** Stays the same when the master key changes. */
export async function auditSeal(keys: Documents<DataKeyDocument>, key: SealingKey): Promise<AuditSeal> {
  const auditKey = deriveKey(key, AUDIT);
  const kept = await keys.get(ONLY);
  const proven = kept !== null && kept.createdMac === macOf(key, kept.createdAt);
  return { key: auditKey, since: proven ? kept.createdAt : 0 };
}

function macOf(key: SealingKey, createdAt: number): string {
  return textMac(deriveKey(key, AUDIT), `made ${createdAt}`);
}

/** Whether values and the record are sealed already, by whoever has the key. */
export async function isSealed(keys: Documents<DataKeyDocument>): Promise<boolean> {
  return (await keys.get(ONLY)) !== null;
}

/**
 * The key that seals the values of a tenant, made once. It is kept sealed with the master key; where that changed, it is sealed anew,
 * and no value is touched. Replicas that run already go on with what they opened.
 */
export async function openDataKey(
  keys: Documents<DataKeyDocument>,
  { current, previous }: MasterKeys,
  { tenant, store }: { tenant: string; store: Pick<Store, 'now'> },
): Promise<SealingKey> {
  const place = [tenant, ONLY];
  const wrap = (bytes: Uint8Array): string => seal(current, bytes, place);
  for (;;) {
    const kept = await keys.get(ONLY);
    if (kept === null) {
      const made = mintSealingKey(ONLY);
      const createdAt = store.now();
      const document = { id: ONLY, kekId: current.id, wrapped: wrap(made.bytes), createdAt, createdMac: macOf(made, createdAt) };
      if (await inserted(() => keys.insert(document))) return made;
      continue;
    }
    const opening = [current, previous].find((key) => key?.id === kept.kekId);
    const bytes = opening && unseal(opening, kept.wrapped, place);
    if (bytes === undefined) throw new StartError(WRONG);
    if (opening === current) return { id: ONLY, bytes };
    // Of replicas that start at once the first one writes; the others find it written.
    await keys.update({ id: ONLY, kekId: kept.kekId }, { set: { kekId: current.id, wrapped: wrap(bytes) } });
  }
}

const WRONG =
  'SECRETS_MASTER_KEY is not the one that the stored secrets are sealed with. Set that one, or beside the new one SECRETS_MASTER_KEY_PREVIOUS to it.';
