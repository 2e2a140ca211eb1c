import { deriveKey, createEncryptionKey, seal, textMac, unseal, type EncryptionKey } from '@switchyard/security';
import { StartError } from '@switchyard/service-kit';
import { inserted, type Documents, type Store } from '@switchyard/store';
import type { DataKeyDocument } from '../documents/collections.ts';

const DATA_KEY_ID = 'dek-1';

/** The operator's keys: the current one, and the previous one, which only decrypts. */
export interface MasterKeys {
  current: EncryptionKey;
  previous: EncryptionKey | undefined;
}

const AUDIT_KEY_INFO = 'switchyard/audit/v1';

/** The key that signs audit records. `since` is when signing began; 0 if that cannot be verified, so that every record needs a MAC. */
export interface AuditKey {
  key: Uint8Array;
  since: number;
}

/** Derived from the data key, so that it stays the same when the master key changes. */
export async function loadAuditKey(keys: Documents<DataKeyDocument>, key: EncryptionKey): Promise<AuditKey> {
  const stored = await keys.get(DATA_KEY_ID);
  const proven = stored !== null && stored.createdMac === createdAtMac(key, stored.createdAt);
  return { key: deriveKey(key, AUDIT_KEY_INFO), since: proven ? stored.createdAt : 0 };
}

function createdAtMac(key: EncryptionKey, createdAt: number): string {
  return textMac(deriveKey(key, AUDIT_KEY_INFO), `made ${createdAt}`);
}

/** Whether a replica with a master key has already encrypted data of this tenant. */
export async function isEncrypted(keys: Documents<DataKeyDocument>): Promise<boolean> {
  return (await keys.get(DATA_KEY_ID)) !== null;
}

/**
 * Loads or creates the key that encrypts the values of a tenant. It is stored encrypted with the master key. After a change of the
 * master key only this key is encrypted again, and running replicas keep the key in memory.
 */
export async function openDataKey(
  keys: Documents<DataKeyDocument>,
  { current, previous }: MasterKeys,
  { tenant, store }: { tenant: string; store: Pick<Store, 'now'> },
): Promise<EncryptionKey> {
  const binding = [tenant, DATA_KEY_ID];
  const wrap = (bytes: Uint8Array): string => seal(current, bytes, binding);
  for (;;) {
    const stored = await keys.get(DATA_KEY_ID);
    if (stored === null) {
      const created = createEncryptionKey(DATA_KEY_ID);
      const createdAt = store.now();
      const document = {
        id: DATA_KEY_ID,
        masterKeyId: current.id,
        encryptedKey: wrap(created.bytes),
        createdAt,
        createdMac: createdAtMac(created, createdAt),
      };
      if (await inserted(() => keys.insert(document))) return created;
      continue;
    }
    const wrappingKey = [current, previous].find((key) => key?.id === stored.masterKeyId);
    const bytes = wrappingKey && unseal(wrappingKey, stored.encryptedKey, binding);
    if (bytes === undefined) throw new StartError(WRONG_MASTER_KEY);
    if (wrappingKey === current) return { id: DATA_KEY_ID, bytes };
    // If several replicas start at once, the first one writes and the others read it.
    await keys.update(
      { id: DATA_KEY_ID, masterKeyId: stored.masterKeyId },
      { set: { masterKeyId: current.id, encryptedKey: wrap(bytes) } },
    );
  }
}

const WRONG_MASTER_KEY =
  'SECRETS_MASTER_KEY is not the key that the stored secrets are encrypted with. Set that key, or also set SECRETS_MASTER_KEY_PREVIOUS to it.';
