import { ServiceError, type Sections } from '@switchyard/contracts';
import type { ConfigurationSource } from '@switchyard/service-kit';
import { inserted, type Documents, type Store } from '@switchyard/store';
import type { KeyOriginDocument } from '../documents/collections.ts';

interface Given {
  documents: Documents<KeyOriginDocument>;
  store: Pick<Store, 'now'>;
  providers: () => Sections['providers'];
  configuration: Pick<ConfigurationSource, 'origin'>;
}

/** Where the keys of providers are sent. */
export interface KeyOrigins {
  /** Binds a key to the first address it is asked for; throws for any other that no file and no variable gives it. */
  check(name: string, origin: string): Promise<void>;
  /** It was set anew: whoever knows the key may say anew where it goes. */
  release(name: string): Promise<void>;
}

/**
 * Whoever may configure a provider chooses its address and the name of its key, and need not know the key. So a key that was used
 * at one address goes to no other, until somebody sets it again.
 */
export function createKeyOrigins({ documents, store, providers, configuration }: Given): KeyOrigins {
  /** What the operator wrote down: who writes files and variables has the keys too. */
  function isDeclared(name: string, origin: string): boolean {
    return Object.entries(providers().entries).some(
      ([id, { apiKeyName, baseUrl }]) =>
        apiKeyName === name &&
        URL.canParse(baseUrl) &&
        new URL(baseUrl).origin === origin &&
        ['apiKeyName', 'baseUrl'].every((key) => isOperators(configuration.origin(`providers.entries.${id}.${key}`).layer)),
    );
  }

  return {
    async check(name, origin) {
      for (;;) {
        const bound = await documents.get(name);
        if (bound !== null) {
          if (bound.origin === origin || isDeclared(name, origin)) return;
          throw boundElsewhere(name, bound.origin, origin);
        }
        if (await inserted(() => documents.insert({ name, origin, boundAt: store.now() }))) return;
      }
    },
    async release(name) {
      await documents.remove({ name });
    },
  };
}

function isOperators(layer: ReturnType<ConfigurationSource['origin']>['layer']): boolean {
  return layer === 'file' || layer === 'environment' || layer === 'preset';
}

function boundElsewhere(name: string, bound: string, origin: string): ServiceError {
  return new ServiceError(
    'PERMISSION_DENIED',
    `${name} belongs to ${bound} and is not sent to ${origin}: set it again to use it there (env.set), name the address in a file, or keep the other key under a name of its own`,
    { details: { reason: 'KEY_ORIGIN' } },
  );
}
