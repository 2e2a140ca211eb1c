import type { IncomingHttpHeaders } from 'node:http';
import type { Sections } from '@switchyard/contracts';
import { isLoopback } from '../auth/client-address.ts';
import type { Edge, EdgeSections } from '../http/edge.ts';
import { compileHooks, type Hooks } from './mappings.ts';

type Configured = Readonly<Pick<Sections, EdgeSections>>;

/** The mappings as they are configured now: worked out when the configuration changes, never for a request. */
export function followHooks({ settings, log, closing }: Pick<Edge, 'settings' | 'log' | 'closing'>): () => Hooks {
  let from = settings.current.webhooks;
  let hooks = compileHooks(from);
  const warn = (current: Configured): void => {
    const unkeyed = hooks.mappings.filter(({ check }) => check === undefined).map(({ name }) => name);
    if (current.webhooks.enabled && unkeyed.length > 0 && !mayBeUnsigned(current)) log.warn({ mappings: unkeyed }, UNKEYED);
  };
  const current = (): Hooks => {
    if (settings.current.webhooks === from) return hooks;
    from = settings.current.webhooks;
    return (hooks = compileHooks(from));
  };
  warn(settings.current);
  const stop = settings.onChange((changed) => {
    current();
    warn(changed);
  });
  closing.addEventListener('abort', stop, { once: true });
  return current;
}

const UNKEYED =
  'these webhook mappings have no key, and the gateway listens beyond this machine: they refuse everybody. ' +
  'Set webhooks.token, or webhooks.allowUnauthenticated: true.';

/** Whether unsigned requests may trigger a mapping without a signature check. */
export function mayBeUnsigned({ gateway, webhooks }: Configured): boolean {
  return isLoopback(gateway.host) || webhooks.allowUnauthenticated;
}

/** The headers that templates may use. Headers with credentials are removed. */
export function shownHeaders(headers: IncomingHttpHeaders, { hmac }: Sections['webhooks']): IncomingHttpHeaders {
  const hidden = new Set([...PROOFS, hmac.headerName.toLowerCase()]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hidden.has(name)));
}

const PROOFS = ['authorization', 'proxy-authorization', 'cookie', 'webhook-signature', 'x-hub-signature', 'x-hub-signature-256'];
