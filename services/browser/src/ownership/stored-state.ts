import { createHash } from 'node:crypto';
import { seal, unseal } from '@switchyard/security';
import type { StorageKeyReader } from '@switchyard/service-kit';
import { collection, inserted, type Collection } from '@switchyard/store';
import { z } from 'zod';
import { StorageState } from '../sessions/storage-state.ts';
import type { BrowserKey } from './browser-document.ts';

const DAY_MS = 86_400_000;
const RETENTION_MS = 30 * DAY_MS;
/** Bytes of the state before encryption. */
const MAX_STATE_BYTES = 6_291_456;

/** The encrypted cookies and storage of one session. */
export const StateDocument = z.object({
  stateId: z.string(),
  /** The lease under which it was written. An older holder does not overwrite it. */
  fence: z.int().nonnegative(),
  sealed: z.string(),
  savedAt: z.int().nonnegative(),
});
export type StateDocument = z.infer<typeof StateDocument>;

export const stateCollection = collection({
  name: 'browser-states',
  schema: StateDocument,
  key: 'stateId',
  maxBytes: 12_582_912,
  indexes: [{ fields: ['savedAt'] }],
  expires: { field: 'savedAt', afterMs: RETENTION_MS },
});

export interface StoredStates {
  /** Undefined if nothing is stored, or if it cannot be decrypted. */
  load(key: BrowserKey): Promise<StorageState | undefined>;
  /**
   * Stores the state under the lease with this fence. Returns false if nothing was stored, because the installation has no master key or a
   * newer lease holder has written.
   */
  save(key: BrowserKey, state: StorageState, fence: number): Promise<boolean>;
  remove(key: BrowserKey): Promise<void>;
}

export interface StoredStatesDeps {
  states: Collection<StateDocument>;
  readKey: StorageKeyReader;
  now: () => number;
}

/** Stores the cookies and storage of sessions, encrypted and bound to their session. */
export function createStoredStates({ states, readKey, now }: StoredStatesDeps): StoredStates {
  return {
    async load(key) {
      const stateId = getStateId(key);
      const [encryption, stored] = await Promise.all([readKey(), states.for(key).get(stateId)]);
      const bytes = encryption && stored && unseal(encryption, stored.sealed, [key.tenant, stateId]);
      return bytes ? StorageState.parse(JSON.parse(Buffer.from(bytes).toString())) : undefined;
    },
    async save(key, state, fence) {
      const encryption = await readKey();
      if (!encryption) return false;
      const stateId = getStateId(key);
      const bytes = encode(state);
      const document = { stateId, fence, sealed: seal(encryption, bytes, [key.tenant, stateId]), savedAt: now() };
      const documents = states.for(key);
      const replaced = await documents.replace(document, { if: { fence: { lte: fence } } });
      // A guarded replacement writes nothing where no document is.
      return replaced !== null || inserted(() => documents.insert(document));
    },
    async remove(key) {
      await states.for(key).remove({ stateId: getStateId(key) });
    },
  };
}

/** Text outside of ASCII may be larger than its characters; the storage of pages is left out then. */
function encode(state: StorageState): Buffer {
  const bytes = Buffer.from(JSON.stringify(state));
  if (bytes.length <= MAX_STATE_BYTES) return bytes;
  return Buffer.from(JSON.stringify({ ...state, origins: [], databases: [], tabs: [], lost: [...state.lost, 'storage', 'indexedDB'] }));
}

function getStateId({ browserId, session }: BrowserKey): string {
  return createHash('sha256')
    .update(JSON.stringify([browserId, session]))
    .digest('base64url');
}
