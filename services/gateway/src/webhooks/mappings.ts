import { createHash } from 'node:crypto';
import type { Sections } from '@switchyard/contracts';
import { PRESETS } from './presets.ts';
import type { Check } from './signature.ts';
import { compileTemplate, type Template } from './template.ts';

type Webhooks = Sections['webhooks'];
type MappingConfig = Webhooks['mappings'][number];

/** Maximum timeout of a turn. */
const DAY_SECONDS = 86_400;

/** A compiled mapping. */
export interface Mapping {
  /** The id that the sender receives. */
  id: string | null;
  /** Identifies the sessions and deliveries of the mapping; contains no colon. */
  name: string;
  /** Display name from the configuration. */
  title: string | undefined;
  path: string | undefined;
  source: string | undefined;
  action: 'agent' | 'wake';
  /** Whether the response is delivered to a channel. */
  delivers: boolean;
  agentId: string | undefined;
  sessionKey: Template | undefined;
  message: Template | undefined;
  /** The event text of the action `wake`. */
  text: Template | undefined;
  /** Whether the action `wake` requests a heartbeat, or leaves the event to the next one. */
  wakeMode: 'now' | 'next-heartbeat';
  /** The model of the turn, if the agent may use it; otherwise the model of the agent applies. */
  model: string | undefined;
  /** The timeout of a turn. */
  timeoutMs: number | undefined;
  /** The signature check; undefined without a key. */
  check: Check | undefined;
  /** Whether the mapping has its own key. Only requests signed with it trigger the mapping. */
  hasOwnKey: boolean;
}

/** The compiled webhook configuration. */
export interface Hooks {
  /** In matching order: configured mappings, then presets. */
  mappings: readonly Mapping[];
  /** The check of the strict endpoint, which exists only with a key. */
  strict: Check | undefined;
  /** The check for paths without a mapping. */
  common: Check | undefined;
}

export function compileHooks(webhooks: Webhooks): Hooks {
  const { token, hmac, presets, mappings } = webhooks;
  const presetConfigs = presets.map((name) => PRESETS[name]);
  const strictKey = hmac.secret ?? token;
  const shared = createCheckCache();
  return {
    mappings: [
      ...mappings.map((config) => toMapping(config, shared(createCheck(webhooks, config)))),
      ...presetConfigs.map(({ mapping, signatureHeader }) => toMapping(mapping, shared(createCheck(webhooks, {}, signatureHeader)))),
    ],
    strict: shared(strictKey === undefined ? undefined : createHmacCheck(webhooks, strictKey)),
    common: shared(token === undefined ? undefined : createHmacCheck(webhooks, token)),
  };
}

/** Returns the same object for equal checks, so that a body is verified once for all of them. */
function createCheckCache(): (check: Check | undefined) => Check | undefined {
  const checks = new Map<string, Check>();
  return (check) => {
    const cacheKey = JSON.stringify(check);
    const cached = checks.get(cacheKey) ?? check;
    if (cached !== undefined) checks.set(cacheKey, cached);
    return cached;
  };
}

/** Prefix of the headers of Standard Webhooks. */
const STANDARD_PREFIX = 'webhook-';

function createCheck(webhooks: Webhooks, mapping: Partial<MappingConfig>, header?: string): Check | undefined {
  const { scheme = 'hmac', headerPrefix = STANDARD_PREFIX, secret } = mapping;
  const key = secret ?? webhooks.token;
  if (key === undefined) return undefined;
  const check = createHmacCheck(webhooks, key);
  // Custom signature schemes have no timestamp header.
  return header === undefined
    ? { ...check, scheme, headerPrefix: headerPrefix.toLowerCase() }
    : { ...check, headers: [header, ...check.headers], algorithm: 'sha256', requireTimestamp: false, signedTimestamp: false };
}

function createHmacCheck({ hmac }: Webhooks, key: Check['key']): Check {
  const { headerName, algorithm, timestampHeaderName: timestampHeader, maxAgeSec, requireTimestamp, signedTimestamp } = hmac;
  return {
    scheme: 'hmac',
    key,
    headers: [headerName],
    headerPrefix: STANDARD_PREFIX,
    algorithm,
    timestampHeader,
    maxAgeSec,
    requireTimestamp,
    signedTimestamp,
  };
}

function toMapping(config: Partial<MappingConfig>, check: Check | undefined): Mapping {
  const {
    id,
    name: title,
    match,
    action = 'agent',
    agentId,
    sessionKey,
    messageTemplate,
    textTemplate,
    wakeMode = 'now',
    model,
    timeoutSeconds,
    deliver = false,
    secret,
  } = config;
  return {
    id: id ?? null,
    name: createName(id ?? match?.path ?? 'webhook'),
    title,
    path: match?.path === undefined ? undefined : normalizePath(match.path),
    source: match?.source,
    action,
    delivers: deliver,
    agentId,
    sessionKey: sessionKey === undefined ? undefined : compileTemplate(sessionKey),
    message: messageTemplate === undefined ? undefined : compileTemplate(messageTemplate),
    text: textTemplate === undefined ? undefined : compileTemplate(textTemplate),
    wakeMode,
    model,
    timeoutMs: timeoutSeconds === undefined ? undefined : Math.min(timeoutSeconds, DAY_SECONDS) * 1_000,
    check,
    hasOwnKey: secret !== undefined,
  };
}

/** Removes slashes at both ends and converts to lower case. */
export function normalizePath(path: string): string {
  let [start, end] = [0, path.length];
  while (path[start] === '/') start += 1;
  while (end > start && path[end - 1] === '/') end -= 1;
  return path.slice(start, end).toLowerCase();
}

export function hasPath({ path }: Mapping, requestPath: string): boolean {
  return path === undefined || path === requestPath;
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

const PLAIN_ID = /^[A-Za-z0-9._-]{1,40}$/;

/** Returns a different name for each id. An id with other characters is replaced by its hash. */
function createName(id: string): string {
  return PLAIN_ID.test(id) ? id : `@${hashText(id)}`.slice(0, 40);
}

export function hashText(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('base64url');
}
