import { findPublishedOrigin, ServiceError, type SecretPurpose, type Sections } from '@switchyard/contracts';
import type { ConfigurationSource } from '@switchyard/service-kit';
import { inserted, type Documents, type Store } from '@switchyard/store';
import type { SecretBindingDocument } from '../documents/collections.ts';

interface SecretBindingsDeps {
  documents: Documents<SecretBindingDocument>;
  store: Pick<Store, 'now'>;
  providers: () => Sections['providers'];
  configuration: Pick<ConfigurationSource, 'origin'>;
}

export type SecretBinding = Pick<SecretBindingDocument, 'purpose' | 'origins'>;

/** The params of `env.set` that bind a secret. */
interface RequestedBinding {
  purpose: SecretPurpose | undefined;
  origins: string[] | undefined;
}

/** How a service uses a secret. Without a purpose an agent or a tool reads it. */
interface SecretUse {
  purpose: SecretPurpose | undefined;
  origin: string | undefined;
}

/** The purposes of secrets and the origins that receive them. */
export interface SecretBindings {
  /** Completes the requested binding; undefined if the caller requested none. Throws for an incomplete one. */
  resolve(name: string, requested: RequestedBinding): SecretBinding | undefined;
  /** Replaces the binding of a secret whose value the caller set. */
  bind(name: string, binding: SecretBinding): Promise<void>;
  /** Throws unless the secret is bound to this use. The error is the same for a secret that does not exist. */
  check(name: string, use: SecretUse): Promise<void>;
  allows(name: string, purpose: SecretPurpose): Promise<boolean>;
}

/**
 * A caller who may configure a provider chooses its address and the name of its key without knowing the key. A key is therefore sent
 * only to an origin that was set with its value, that the operator declares in a file or a variable, or that its provider publishes.
 */
export function createSecretBindings({ documents, store, providers, configuration }: SecretBindingsDeps): SecretBindings {
  /** Whether files or variables of the operator, who has the keys anyway, name this origin for the key. */
  function isDeclared(name: string, origin: string): boolean {
    return Object.entries(providers().entries).some(
      ([id, { apiKeyName, baseUrl, type }]) =>
        apiKeyName === name &&
        (getOrigin(baseUrl) ?? findPublishedOriginOf(id) ?? findPublishedOriginOf(type)) === origin &&
        isOperatorKey(`providers.entries.${id}.apiKeyName`) &&
        (baseUrl === '' || isOperatorKey(`providers.entries.${id}.baseUrl`)) &&
        isOperatorKey(`providers.entries.${id}.type`),
    );
  }

  function isOperatorKey(path: string): boolean {
    return ['file', 'environment', 'preset'].includes(configuration.origin(path).layer);
  }

  async function find(name: string): Promise<SecretBinding | undefined> {
    const stored = await documents.get(name);
    if (stored !== null) return stored;
    const published = findPublishedOrigin(name);
    return published === undefined ? undefined : { purpose: 'provider', origins: [published] };
  }

  async function isAllowed(name: string, { purpose = 'tool', origin }: SecretUse): Promise<boolean> {
    const binding = await find(name);
    if (binding !== undefined && binding.purpose !== purpose) return false;
    // Pages ask for what they like, so that a secret is typed only where its owner said.
    if (purpose === 'browser') return origin !== undefined && binding !== undefined && binding.origins.includes(origin);
    if (purpose !== 'provider' || origin === undefined) return true;
    return (binding?.origins.includes(origin) ?? false) || isDeclared(name, origin);
  }

  return {
    resolve: (name, requested) => completeBinding(name, requested),
    async bind(name, binding) {
      for (;;) {
        const fields = { ...binding, boundAt: store.now() };
        if (await documents.update({ name }, { set: fields })) return;
        if (await inserted(() => documents.insert({ name, ...fields }))) return;
      }
    },
    async check(name, use) {
      if (!(await isAllowed(name, use))) throw notBound(name, use);
    },
    allows: (name, purpose) => isAllowed(name, { purpose, origin: undefined }),
  };
}

function completeBinding(name: string, { purpose, origins }: RequestedBinding): SecretBinding | undefined {
  if (purpose === undefined && origins === undefined) return undefined;
  if (purpose === 'browser') {
    if (origins !== undefined && origins.length > 0) return { purpose, origins };
    throw invalidBinding('origins: expected the origins of the pages into which the secret may be typed');
  }
  if ((purpose ?? 'provider') !== 'provider') {
    if (origins === undefined) return { purpose: purpose ?? 'provider', origins: [] };
    throw invalidBinding(
      `origins: expected none for the purpose ${purpose}, because only provider keys and secrets of the browser are sent to an origin`,
    );
  }
  const published = findPublishedOrigin(name);
  const foreign = origins?.find((origin) => origin !== published);
  if (published !== undefined && name.endsWith('_API_KEY') && foreign !== undefined)
    throw invalidBinding(`origins: ${name} is only sent to ${published}, not to ${foreign}. Store the key under another name`);
  const allowed = origins ?? (published === undefined ? [] : [published]);
  if (allowed.length > 0) return { purpose: 'provider', origins: allowed };
  throw invalidBinding(`origins: expected the origin of the provider, because ${name} is not the key of a known one`);
}

function getOrigin(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

function findPublishedOriginOf(provider: string): string | undefined {
  return findPublishedOrigin(`${provider.toUpperCase()}_API_KEY`);
}

function invalidBinding(problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `Invalid params: ${problem}`, { details: { reason: 'SECRET_BINDING' } });
}

/** Says nothing about the stored binding or whether the secret exists: a caller who may not use a secret learns neither. */
function notBound(name: string, { purpose = 'tool', origin }: SecretUse): ServiceError {
  const to = origin === undefined ? '' : ` at ${origin}`;
  const flags = origin === undefined ? `--purpose ${purpose}` : `--purpose ${purpose} --origin ${origin}`;
  return new ServiceError(
    'PERMISSION_DENIED',
    `${name} is not bound to the purpose ${purpose}${to}. Bind it with its value: switchyard env set ${name} ${flags} ` +
      '(env.set with purpose and origins), or declare the provider with its address in the configuration file.',
    { details: { reason: 'KEY_ORIGIN' } },
  );
}
