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
    const { gateway, webhooks } = current;
    if (webhooks.enabled && unkeyed.length > 0 && !webhooks.allowUnauthenticated && !isLoopback(gateway.host))
      log.warn({ mappings: unkeyed }, UNKEYED_WARNING);
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
  'webhook mappings without a key accept requests from this machine only. Set webhooks.token, or webhooks.allowUnauthenticated: true.';

/** Headers of a proxy. The sender of a forwarded request is not the peer of its connection. */
const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'];

interface Sender {
  address: string;
  headers: IncomingHttpHeaders;
}

/**
 * Whether an unsigned request may trigger a mapping without a key: its sender is on this machine, or `webhooks.allowUnauthenticated` is
 * set. The address of the listener does not count, because a proxy or a tunnel can forward requests from outside to loopback.
 */
export function allowsUnsigned({ allowUnauthenticated }: Sections['webhooks'], { address, headers }: Sender): boolean {
  return allowUnauthenticated || (isLoopback(address) && !FORWARDING_HEADERS.some((name) => headers[name] !== undefined));
}

/** The headers that templates may use. Headers with credentials are removed. */
export function removeCredentialHeaders(headers: IncomingHttpHeaders, { hmac, mappings }: Sections['webhooks']): IncomingHttpHeaders {
  const signatures = [hmac.headerName, ...mappings.map(({ headerPrefix }) => `${headerPrefix}signature`)];
  const credentialHeaders = new Set([...CREDENTIAL_HEADERS, ...signatures.map((name) => name.toLowerCase())]);
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
