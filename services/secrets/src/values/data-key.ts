import { mintSealingKey, seal, unseal, type SealingKey } from '@switchyard/security';
import { StartError } from '@switchyard/service-kit';
import { inserted, type Documents, type Store } from '@switchyard/store';
import type { DataKeyDocument } from '../data.ts';

const ONLY = 'dek-1';

/** The keys of the operator: the one in force, and the one before it, which only opens. */
export interface MasterKeys {
  current: SealingKey;
  previous: SealingKey | undefined;
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
      const document = { id: ONLY, kekId: current.id, wrapped: wrap(made.bytes), createdAt: store.now() };
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
