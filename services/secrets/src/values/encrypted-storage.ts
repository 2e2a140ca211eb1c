import { ServiceError, type EventPayload } from '@switchyard/contracts';
import { seal, unseal, type SealingKey } from '@switchyard/security';
import { inserted, type Documents, type Store } from '@switchyard/store';
import type { SecretDocument } from '../documents/collections.ts';
import { providerOf } from './provider-names.ts';
import type { Listed, Values } from './secret-storage.ts';

const PAGE = 500;

interface Given {
  documents: Documents<SecretDocument>;
  key: SealingKey;
  tenant: string;
  store: Pick<Store, 'now'>;
}

/** Stores values in the database, encrypted and bound to name and version: a moved, swapped or restored row fails to decrypt. */
export function createSealedValues({ documents, key, tenant, store }: Given): Values {
  const placeOf = (name: string, version: number): string[] => [tenant, name, String(version)];

  return {
    storage: 'encrypted',
    async get(name) {
      const kept = await documents.get(name);
      if (kept === null) return undefined;
      const bytes = unseal(key, kept.sealed, placeOf(name, kept.version));
      if (bytes !== undefined) return Buffer.from(bytes).toString();
      throw new ServiceError('DATA_LOSS', `The stored secret ${name} cannot be decrypted. Set it again.`);
    },
    async set(name, value) {
      for (;;) {
        const kept = await documents.get(name);
        const version = (kept?.version ?? 0) + 1;
        const now = store.now();
        const action = kept === null ? 'created' : 'updated';
        const payload: EventPayload<'secret:modified'> = { secretName: name, action, timestamp: now };
        const emit = [{ name: 'secret:modified', payload }];
        const sealed = seal(key, Buffer.from(value), placeOf(name, version));
        const written =
          kept === null
            ? await inserted(() => documents.insert({ name, sealed, version, createdAt: now, updatedAt: now }, { emit }))
            : await documents.update({ name, version: kept.version }, { set: { sealed, version, updatedAt: now }, emit });
        if (written) return action;
      }
    },
    async list() {
      const listed: Listed[] = [];
      for (let next: { cursor?: string } | undefined = {}; next !== undefined;) {
        const { items, cursor } = await documents.find({}, { limit: PAGE, ...next });
        listed.push(
          ...items.map(({ name, createdAt, updatedAt }) => ({
            name,
            source: 'encrypted' as const,
            ...providerOf(name),
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
