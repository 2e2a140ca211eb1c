import { notConfigured } from '../errors/provider-errors.ts';
import type { ProviderSettings } from './provider-settings.ts';

/** The address and headers of a provider's route. */
export interface Endpoint {
  origin: string;
  host: string;
  path: string;
  /** Alternating names and values. */
  headers: string[];
}

/** The default header of the key. */
const BEARER = 'authorization';

/** Resolves the endpoint of a route. Throws if the configuration is incomplete. */
export function resolveEndpoint(settings: ProviderSettings, key: string | undefined, route: string, keyHeader = BEARER): Endpoint {
  const { id, baseUrl, keyName } = settings;
  if (!URL.canParse(baseUrl)) {
    throw notConfigured('PROVIDER_NOT_CONFIGURED', `provider ${id} has no usable address: set providers.entries.${id}.baseUrl`);
  }
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    throw notConfigured('PROVIDER_AUTH', `the secret ${keyName ?? ''} contains invalid characters: set it again`);
  }
  const { origin, host, pathname, search } = new URL(baseUrl);
  return { origin, host, path: `${pathname.replace(/\/+$/, '')}${route}${search}`, headers: buildHeaders(settings, key, keyHeader) };
}

/** Headers that are set by the HTTP client and cannot be configured. */
const RESERVED_HEADERS = new Set(['connection', 'content-length', 'expect', 'host', 'keep-alive', 'te', 'transfer-encoding', 'upgrade']);

/** Builds alternating names and values. Configured headers override the defaults. */
function buildHeaders({ id, headers }: ProviderSettings, key: string | undefined, keyHeader: string): string[] {
  const all = new Map([
    ['content-type', 'application/json'],
    ['accept', 'text/event-stream, application/json'],
    ['user-agent', 'switchyard'],
    ...(key === undefined ? [] : [[keyHeader, keyHeader === BEARER ? `Bearer ${key}` : key] as const]),
  ]);
  for (const [configuredName, value] of Object.entries(headers)) {
    const name = configuredName.toLowerCase();
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name) || RESERVED_HEADERS.has(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw notConfigured(
        'PROVIDER_NOT_CONFIGURED',
        `providers.entries.${id}.headers: ${configuredName} is not a valid header; remove or correct it`,
      );
    }
    all.set(name, value);
  }
  return [...all].flat();
}
