import { ServiceError, type EventPayload } from '@switchyard/contracts';
import { seal, unseal, type EncryptionKey } from '@switchyard/security';
import { inserted, type Documents, type Store } from '@switchyard/store';
import type { SecretDocument } from '../documents/collections.ts';
import { guessProvider } from './provider-names.ts';
import type { SecretListing, SecretStorage } from './secret-storage.ts';

const PAGE_SIZE = 500;

interface EncryptedStorageDeps {
  documents: Documents<SecretDocument>;
  key: EncryptionKey;
  tenant: string;
  store: Pick<Store, 'now'>;
}

/** Stores values in the database, encrypted and bound to name and version: a moved, swapped or restored row fails to decrypt. */
export function createEncryptedStorage({ documents, key, tenant, store }: EncryptedStorageDeps): SecretStorage {
  const getBinding = (name: string, version: number): string[] => [tenant, name, String(version)];

  return {
    storage: 'encrypted',
    async get(name) {
      const stored = await documents.get(name);
      if (stored === null) return undefined;
      const bytes = unseal(key, stored.ciphertext, getBinding(name, stored.version));
      if (bytes !== undefined) return Buffer.from(bytes).toString();
      throw new ServiceError('DATA_LOSS', `The stored secret ${name} cannot be decrypted. Set it again.`);
    },
    async set(name, value) {
      for (;;) {
        const stored = await documents.get(name);
        const version = (stored?.version ?? 0) + 1;
        const now = store.now();
        const action = stored === null ? 'created' : 'updated';
        const payload: EventPayload<'secret:modified'> = { secretName: name, action, timestamp: now };
        const emit = [{ name: 'secret:modified', payload }];
        const ciphertext = seal(key, Buffer.from(value), getBinding(name, version));
        const written =
          stored === null
            ? await inserted(() => documents.insert({ name, ciphertext, version, createdAt: now, updatedAt: now }, { emit }))
            : await documents.update({ name, version: stored.version }, { set: { ciphertext, version, updatedAt: now }, emit });
        if (written) return action;
      }
    },
    async list() {
      const listed: SecretListing[] = [];
      for (let next: { cursor?: string } | undefined = {}; next !== undefined;) {
        const { items, cursor } = await documents.find({}, { limit: PAGE_SIZE, ...next });
        listed.push(
          ...items.map(({ name, createdAt, updatedAt }) => ({
            name,
            source: 'encrypted' as const,
            ...guessProvider(name),
            createdAt,
            updatedAt,
          })),
        );
        next = cursor === undefined ? undefined : { cursor };
      }
      return listed;
    },
  };
}
