import { notConfigured } from '../errors/provider-errors.ts';
import type { ProviderSettings } from './provider-settings.ts';

/** Where a provider is asked, and with what. The same for every call of it while it is configured the same. */
export interface Endpoint {
  origin: string;
  host: string;
  path: string;
  /** Names and values in turn. */
  headers: string[];
}

/** Where every wire but some of a provider's own has the key. */
const BEARER = 'authorization';

/** The endpoint of one route of a provider. Throws what its configuration lacks. */
export function addressOf(settings: ProviderSettings, key: string | undefined, route: string, keyHeader = BEARER): Endpoint {
  const { id, baseUrl, keyName } = settings;
  if (!URL.canParse(baseUrl)) {
    throw notConfigured('PROVIDER_NOT_CONFIGURED', `provider ${id} has no usable address: set providers.entries.${id}.baseUrl`);
  }
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    throw notConfigured('PROVIDER_AUTH', `the secret ${keyName ?? ''} has characters that are in no key: set it again`);
  }
  const { origin, host, pathname, search } = new URL(baseUrl);
  return { origin, host, path: `${pathname.replace(/\/+$/, '')}${route}${search}`, headers: headersOf(settings, key, keyHeader) };
}

/** Of the message itself, not of the provider: whoever sends it says these. */
const OURS = new Set(['connection', 'content-length', 'expect', 'host', 'keep-alive', 'te', 'transfer-encoding', 'upgrade']);

/** Names and values in turn. Those of the settings come before ours. */
function headersOf({ id, headers }: ProviderSettings, key: string | undefined, keyHeader: string): string[] {
  const all = new Map([
    ['content-type', 'application/json'],
    ['accept', 'text/event-stream, application/json'],
    ['user-agent', 'switchyard'],
    ...(key === undefined ? [] : [[keyHeader, keyHeader === BEARER ? `Bearer ${key}` : key] as const]),
  ]);
  for (const [written, value] of Object.entries(headers)) {
    const name = written.toLowerCase();
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name) || OURS.has(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw notConfigured(
        'PROVIDER_NOT_CONFIGURED',
        `providers.entries.${id}.headers: ${written} cannot be sent; leave it out or write it anew`,
      );
    }
    all.set(name, value);
  }
  return [...all].flat();
}
