import { deriveKey, mintSealingKey, seal, textMac, unseal, type SealingKey } from '@switchyard/security';
import { StartError } from '@switchyard/service-kit';
import { inserted, type Documents, type Store } from '@switchyard/store';
import type { DataKeyDocument } from '../documents/collections.ts';

const ONLY = 'dek-1';

/** The operator's keys: the current one, and the previous one, which only decrypts. */
export interface MasterKeys {
  current: SealingKey;
  previous: SealingKey | undefined;
}

const AUDIT = 'switchyard/audit/v1';

/** The key that signs audit records. `since` is when signing began; 0 if that cannot be verified, so that every record needs a MAC. */
export interface AuditSeal {
  key: Uint8Array;
  since: number;
}

/** Derived from the data key, so that it stays the same when the master key changes. */
export async function auditSeal(keys: Documents<DataKeyDocument>, key: SealingKey): Promise<AuditSeal> {
  const auditKey = deriveKey(key, AUDIT);
  const kept = await keys.get(ONLY);
  const proven = kept !== null && kept.createdMac === macOf(key, kept.createdAt);
  return { key: auditKey, since: proven ? kept.createdAt : 0 };
}

function macOf(key: SealingKey, createdAt: number): string {
  return textMac(deriveKey(key, AUDIT), `made ${createdAt}`);
}

/** Whether a replica with a master key has already encrypted data of this tenant. */
export async function isSealed(keys: Documents<DataKeyDocument>): Promise<boolean> {
  return (await keys.get(ONLY)) !== null;
}

/**
 * Loads or creates the key that encrypts the values of a tenant. It is stored encrypted with the master key. After a change of the
 * master key only this key is encrypted again, and running replicas keep the key in memory.
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
    // If several replicas start at once, the first one writes and the others read it.
    await keys.update({ id: ONLY, kekId: kept.kekId }, { set: { kekId: current.id, wrapped: wrap(bytes) } });
  }
}

const WRONG =
  'SECRETS_MASTER_KEY is not the key that the stored secrets are encrypted with. Set that key, or also set SECRETS_MASTER_KEY_PREVIOUS to it.';
