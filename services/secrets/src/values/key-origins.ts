import { ServiceError, type Sections } from '@switchyard/contracts';
import type { ConfigurationSource } from '@switchyard/service-kit';
import { inserted, type Documents, type Store } from '@switchyard/store';
import type { KeyOriginDocument } from '../documents/collections.ts';

interface KeyOriginsDeps {
  documents: Documents<KeyOriginDocument>;
  store: Pick<Store, 'now'>;
  providers: () => Sections['providers'];
  configuration: Pick<ConfigurationSource, 'origin'>;
}

/** The origins that provider keys may be sent to. */
export interface KeyOrigins {
  /** Binds a key to the first requested origin. Throws for another origin, unless a file or a variable declares it. */
  check(name: string, origin: string): Promise<void>;
  /** Unbinds a key whose value was set again: the caller knows the key and may choose its origin. */
  release(name: string): Promise<void>;
}

/**
 * A caller who may configure a provider chooses its address and the name of its key without knowing the key. A key that was used at
 * one address is therefore not sent to another one until it is set again.
 */
export function createKeyOrigins({ documents, store, providers, configuration }: KeyOriginsDeps): KeyOrigins {
  /** Whether files or variables of the operator, who has the keys anyway, name this origin for the key. */
  function isDeclared(name: string, origin: string): boolean {
    return Object.entries(providers().entries).some(
      ([id, { apiKeyName, baseUrl }]) =>
        apiKeyName === name &&
        URL.canParse(baseUrl) &&
        new URL(baseUrl).origin === origin &&
        ['apiKeyName', 'baseUrl'].every((key) => isOperatorLayer(configuration.origin(`providers.entries.${id}.${key}`).layer)),
    );
  }

  return {
    async check(name, origin) {
      for (;;) {
        const bound = await documents.get(name);
        if (bound !== null) {
          if (bound.origin === origin || isDeclared(name, origin)) return;
          throw keyBoundElsewhere(name, bound.origin, origin);
        }
        if (await inserted(() => documents.insert({ name, origin, boundAt: store.now() }))) return;
      }
    },
    async release(name) {
      await documents.remove({ name });
    },
  };
}

function isOperatorLayer(layer: ReturnType<ConfigurationSource['origin']>['layer']): boolean {
  return layer === 'file' || layer === 'environment' || layer === 'preset';
}

function keyBoundElsewhere(name: string, bound: string, origin: string): ServiceError {
  return new ServiceError(
    'PERMISSION_DENIED',
    `${name} is bound to ${bound} and is not sent to ${origin}. Set it again with env.set, declare the address in a file, or store the other key under its own name.`,
    { details: { reason: 'KEY_ORIGIN' } },
  );
}
