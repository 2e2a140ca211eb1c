import { createHash } from 'node:crypto';
import type { Sections } from '@switchyard/contracts';
import { PRESETS } from './presets.ts';
import type { Check } from './signature.ts';
import { compileTemplate, type Template } from './template.ts';

type Webhooks = Sections['webhooks'];
type Written = Webhooks['mappings'][number];

/** No turn takes as long. */
const DAY_SECONDS = 86_400;

/** A mapping as it is configured now. */
export interface Mapping {
  /** As its sender is told. */
  id: string | null;
  /** Identifies the sessions and deliveries of the mapping; contains no colon. */
  name: string;
  /** Display name from the configuration. */
  title: string | undefined;
  path: string | undefined;
  source: string | undefined;
  action: 'agent' | 'wake';
  /** Its answer is for a channel. */
  delivers: boolean;
  agentId: string | undefined;
  sessionKey: Template | undefined;
  message: Template | undefined;
  /** The model that answers, where the agent may use it; that of the agent otherwise. */
  model: string | undefined;
  /** How long an answer may take from its start on. */
  timeoutMs: number | undefined;
  /** Undefined where nothing has to be proved. */
  check: Check | undefined;
  /** Whether its key is its own, so that nobody sets it off with another. */
  keyed: boolean;
}

/** Everything that requests are held against, worked out once for each revision of the configuration. */
export interface Hooks {
  /** In the order in which they are looked at: those of the operator, then the presets. */
  mappings: readonly Mapping[];
  /** The check of the strict endpoint, which exists only with a key. */
  strict: Check | undefined;
  /** The check for paths without a mapping. */
  common: Check | undefined;
}

export function compileHooks(webhooks: Webhooks): Hooks {
  const { token, hmac, presets, mappings } = webhooks;
  const known = presets.map((name) => PRESETS[name]);
  const strictKey = hmac.secret ?? token;
  const one = sharing();
  return {
    mappings: [
      ...mappings.map((written) => toMapping(written, one(checkOf(webhooks, written)))),
      ...known.map(({ mapping, signatureHeader }) => toMapping(mapping, one(checkOf(webhooks, {}, signatureHeader)))),
    ],
    strict: one(strictKey === undefined ? undefined : hmacCheck(webhooks, strictKey)),
    common: one(token === undefined ? undefined : hmacCheck(webhooks, token)),
  };
}

/** Checks that ask for the same are the same object, so that a body is signed once for all of them. */
function sharing(): (check: Check | undefined) => Check | undefined {
  const known = new Map<string, Check>();
  return (check) => {
    const like = JSON.stringify(check);
    const same = known.get(like) ?? check;
    if (same !== undefined) known.set(like, same);
    return same;
  };
}

function checkOf(webhooks: Webhooks, { scheme = 'hmac', secret }: Partial<Written>, header?: string): Check | undefined {
  const key = secret ?? webhooks.token;
  if (key === undefined) return undefined;
  const check = hmacCheck(webhooks, key);
  // Custom signature schemes have no timestamp header.
  return header === undefined
    ? { ...check, scheme }
    : { ...check, headers: [header, ...check.headers], algorithm: 'sha256', requireTimestamp: false, signedTimestamp: false };
}

function hmacCheck({ hmac }: Webhooks, key: Check['key']): Check {
  const { headerName, algorithm, timestampHeaderName: timestampHeader, maxAgeSec, requireTimestamp, signedTimestamp } = hmac;
  return { scheme: 'hmac', key, headers: [headerName], algorithm, timestampHeader, maxAgeSec, requireTimestamp, signedTimestamp };
}

function toMapping(written: Partial<Written>, check: Check | undefined): Mapping {
  const {
    id,
    name: title,
    match,
    action = 'agent',
    agentId,
    sessionKey,
    messageTemplate,
    model,
    timeoutSeconds,
    deliver = false,
    secret,
  } = written;
  return {
    id: id ?? null,
    name: nameOf(id ?? match?.path ?? 'webhook'),
    title,
    path: match?.path === undefined ? undefined : normalPath(match.path),
    source: match?.source,
    action,
    delivers: deliver,
    agentId,
    sessionKey: sessionKey === undefined ? undefined : compileTemplate(sessionKey),
    message: messageTemplate === undefined ? undefined : compileTemplate(messageTemplate),
    model,
    timeoutMs: timeoutSeconds === undefined ? undefined : Math.min(timeoutSeconds, DAY_SECONDS) * 1_000,
    check,
    keyed: secret !== undefined,
  };
}

/** Neither the case nor slashes at the ends tell two paths apart. */
export function normalPath(path: string): string {
  let [from, to] = [0, path.length];
  while (path[from] === '/') from += 1;
  while (to > from && path[to - 1] === '/') to -= 1;
  return path.slice(from, to).toLowerCase();
}

export function hasPath({ path }: Mapping, asked: string): boolean {
  return path === undefined || path === asked;
}

export function hasSource({ source }: Mapping, payload: unknown): boolean {
  if (source === undefined) return true;
  return (
    typeof payload === 'object' &&
    payload !== null &&
    Object.hasOwn(payload, 'source') &&
    (payload as { source: unknown }).source === source
  );
}

const PLAIN = /^[A-Za-z0-9._-]{1,40}$/;

/** Another name for each id, whatever it is made of. */
function nameOf(id: string): string {
  return PLAIN.test(id) ? id : `@${digest(id)}`.slice(0, 40);
}

export function digest(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('base64url');
}
