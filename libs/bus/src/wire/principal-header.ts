import { TOKEN_SCOPES, type Principal, type Spend, type TokenScope } from '@switchyard/contracts';
import { LRUCache } from 'lru-cache';
import { PRINCIPAL, formatHeaders, isHeaderValue, type HeaderLines } from './headers.ts';

const MAX_CACHED_PRINCIPALS = 2_048;

const headerCache = new WeakMap<Principal, HeaderLines>();
const principalCache = new LRUCache<string, Principal>({ max: MAX_CACHED_PRINCIPALS });

/** Encodes the principal header. The result is cached by object, so reuse the object for the lifetime of the token. */
export function encodePrincipal(principal: Principal): HeaderLines {
  let line = headerCache.get(principal);
  if (line === undefined) {
    const { tenant, client, scopes, agent, session, sessions, budgets, agents } = principal;
    const limits = agents === undefined ? (budgets === undefined ? [] : [budgets]) : [budgets ?? 0, agents];
    const fields = [tenant, client, scopes.join(' '), agent ?? 0, session ?? 0, sessions ?? 0, ...limits];
    line = formatHeaders([PRINCIPAL, escapeNonAscii(JSON.stringify(fields))]);
    headerCache.set(principal, line);
  }
  return line;
}

/** Decodes the principal header. Equal texts return the same frozen object while it is cached. Returns undefined for a malformed header. */
export function decodePrincipal(text: string): Principal | undefined {
  const known = principalCache.get(text);
  if (known !== undefined) return known;
  const principal = parse(text);
  if (principal === undefined) return undefined;
  principalCache.set(text, principal);
  headerCache.set(principal, formatHeaders([PRINCIPAL, text])); // the received text, for calls made by the handler
  return principal;
}

function parse(text: string): Principal | undefined {
  if (!isHeaderValue(text)) return undefined;
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(fields) || fields.length < 6 || fields.length > 8) return undefined;
  const [tenant, client, scopes, agent, session, sessions, limits, agents] = fields as unknown[];
  const budgets = limits === 0 && agents !== undefined ? undefined : limits;
  if (budgets !== undefined && !isLimits(budgets)) return undefined;
  if (agents !== undefined && !isStringArray(agents)) return undefined;
  if (typeof tenant !== 'string' || tenant === '' || typeof client !== 'string' || typeof scopes !== 'string') return undefined;
  return Object.freeze({
    tenant,
    client,
    scopes: Object.freeze(scopes.split(' ').filter(isScope)),
    ...(typeof agent === 'string' ? { agent } : {}),
    ...(typeof session === 'string' ? { session } : {}),
    ...(sessions === 0 ? {} : { sessions: 'own' }), // unknown values never grant more access
    ...(budgets === undefined ? {} : { budgets: Object.freeze(budgets) }),
    ...(agents === undefined ? {} : { agents: Object.freeze(agents) }),
  });
}

function isLimits(value: unknown): value is Spend {
  return typeof value === 'object' && value !== null && Object.values(value).every((limit) => typeof limit === 'number');
}

function isStringArray(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((word) => typeof word === 'string');
}

function isScope(word: string): word is TokenScope {
  return (TOKEN_SCOPES as readonly string[]).includes(word);
}

function escapeNonAscii(json: string): string {
  return json.replaceAll(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
