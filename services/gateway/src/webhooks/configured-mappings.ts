import type { IncomingHttpHeaders } from 'node:http';
import type { Sections } from '@switchyard/contracts';
import { isLoopback } from '../auth/client-address.ts';
import type { Edge, EdgeSections } from '../http/edge.ts';
import { compileHooks, type Hooks } from './mappings.ts';

type Configured = Readonly<Pick<Sections, EdgeSections>>;

/** Returns the current mappings, which are compiled when the configuration changes and not per request. */
export function followHooks({ settings, log, closing }: Pick<Edge, 'settings' | 'log' | 'closing'>): () => Hooks {
  let source = settings.current.webhooks;
  let hooks = compileHooks(source);
  const warn = (current: Configured): void => {
    const unkeyed = hooks.mappings.filter(({ check }) => check === undefined).map(({ name }) => name);
    if (current.webhooks.enabled && unkeyed.length > 0 && !allowsUnsigned(current)) log.warn({ mappings: unkeyed }, UNKEYED_WARNING);
  };
  const current = (): Hooks => {
    if (settings.current.webhooks === source) return hooks;
    source = settings.current.webhooks;
    return (hooks = compileHooks(source));
  };
  warn(settings.current);
  const stop = settings.onChange((changed) => {
    current();
    warn(changed);
  });
  closing.addEventListener('abort', stop, { once: true });
  return current;
}

const UNKEYED_WARNING =
  'webhook mappings without a key reject all requests, because the gateway listens beyond loopback. ' +
  'Set webhooks.token, or webhooks.allowUnauthenticated: true.';

/** Whether unsigned requests may trigger a mapping without a signature check. */
export function allowsUnsigned({ gateway, webhooks }: Configured): boolean {
  return isLoopback(gateway.host) || webhooks.allowUnauthenticated;
}

/** The headers that templates may use. Headers with credentials are removed. */
export function removeCredentialHeaders(headers: IncomingHttpHeaders, { hmac }: Sections['webhooks']): IncomingHttpHeaders {
  const credentialHeaders = new Set([...CREDENTIAL_HEADERS, hmac.headerName.toLowerCase()]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !credentialHeaders.has(name)));
}

const CREDENTIAL_HEADERS = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'webhook-signature',
  'x-hub-signature',
  'x-hub-signature-256',
];
