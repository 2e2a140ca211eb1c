import { encodePrincipal, type Bus } from '@switchyard/bus';
import {
  bucketKey,
  hasScope,
  TokenProjection,
  TOKENS_BUCKET,
  TOKENS_COMPLETE_KEY,
  TokensCompleteMarker,
  type Principal,
} from '@switchyard/contracts';
import { hashToken } from '@switchyard/security';
import { watchBucket } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Caller } from '../request/caller.ts';

/** Tokens are not verifiable after the watch of their bucket has been lost for this long. */
const STALE_AFTER_MS = 5_000;
const Entry = z.union([TokensCompleteMarker, TokenProjection]);
/** Secrets whose caller is cached, so that they are not hashed again. */
const MAX_VERIFIED_SECRETS = 10_000;

const NO_EXPIRY = Number.POSITIVE_INFINITY;

export interface Tokens {
  /** The caller of a secret; undefined when the secret is unknown or expired, or cannot be verified. */
  authenticate(secret: string): Caller | undefined;
  /** The caller of a bucket record while its token is valid. */
  findByRecord(record: string): Caller | undefined;
  /** Whether the token of an authenticated caller is still valid. */
  isValid(caller: Caller): boolean;
  /** Whether the token was revoked, rotated, changed or has expired. */
  hasEnded(caller: Caller): boolean;
  /** Whether a stream to the caller may continue. A stream outlasts the loss of the bus, because no data is sent during an outage. */
  mayStream(caller: Caller): boolean;
  /** Whether the known tokens are complete and current. */
  areVerifiable(): boolean;
  /** The reason why no token is accepted; undefined while tokens are accepted. */
  describeOutage(): string | undefined;
}

export interface TokensOptions {
  bus: Bus;
  log: Logger;
  /** Called with the first revision, and after each change is applied. */
  onRevision?: (revision: number) => void;
}

/** Keeps every token in memory, within milliseconds of a change. */
export async function openTokens({ bus, log, onRevision = () => undefined }: TokensOptions): Promise<Tokens & AsyncDisposable> {
  const watched = await watchBucket(bus, TOKENS_BUCKET, Entry, log);
  const byKey = new Map<string, KnownToken>();
  const byHash = new Map<string, Caller>();
  const verified = new LRUCache<string, Caller>({ max: MAX_VERIFIED_SECRETS });
  /** Keys missing from the bucket whose tokens are not known to be removed. */
  const missing = new Set<string>();
  let complete = false;

  function apply(key: string, projection: TokenProjection | undefined): void {
    const existing = byKey.get(key);
    const text = projection && JSON.stringify(projection);
    if (existing?.text === text) return;
    verified.clear();
    if (existing) drop(key, existing);
    if (!projection || text === undefined) return;
    const caller = createCaller(key, projection);
    byKey.set(key, { text, hash: projection.hash, caller });
    byHash.set(projection.hash, caller);
  }

  function drop(key: string, token: KnownToken): void {
    token.caller.live = false;
    byKey.delete(key);
    if (byHash.get(token.hash) === token.caller) byHash.delete(token.hash);
  }

  function handleEntry(key: string, entry: z.infer<typeof Entry> | undefined): void {
    if (key === TOKENS_COMPLETE_KEY) complete = entry !== undefined;
    else if (entry === undefined || 'told' in entry) missing.add(key);
    else {
      missing.delete(key);
      apply(key, entry);
    }
  }

  /** A bus that lost its data has lost the completeness marker too. In that case a missing key does not end its token. */
  function applyRemovals(): void {
    if (complete) {
      for (const key of missing) apply(key, undefined);
      missing.clear();
    }
    onRevision(watched.revision);
  }

  for (const [key, entry] of watched.entries) handleEntry(key, entry);
  applyRemovals();
  watched.onChange((key, entry) => {
    handleEntry(key, entry);
    // Entries lost together arrive in one batch, which is complete by then.
    queueMicrotask(applyRemovals);
  });

  function areVerifiable(): boolean {
    if (!complete) return false;
    const lost = watched.lostSince();
    return lost === undefined || Date.now() - lost < STALE_AFTER_MS;
  }

  function hasEnded({ live, expiresAt }: Caller): boolean {
    return !live || (expiresAt !== NO_EXPIRY && expiresAt <= Date.now());
  }

  function isValid(caller: Caller): boolean {
    return !hasEnded(caller) && areVerifiable();
  }

  function findCaller(secret: string): Caller | undefined {
    const cached = verified.get(secret);
    if (cached) return cached;
    const caller = byHash.get(hashToken(secret));
    if (!caller) return undefined;
    verified.set(secret, caller);
    return caller;
  }

  return {
    authenticate(secret) {
      const caller = findCaller(secret);
      return caller && isValid(caller) ? caller : undefined;
    },
    findByRecord(record) {
      const caller = byKey.get(record)?.caller;
      return caller && isValid(caller) ? caller : undefined;
    },
    isValid,
    hasEnded,
    mayStream: (caller) => !hasEnded(caller) && (areVerifiable() || !bus.connected()),
    areVerifiable,
    describeOutage() {
      if (byHash.size === 0) return 'no token is known: the secrets service has published none';
      if (!complete) return 'the secrets service has not published all tokens again';
      return areVerifiable() ? undefined : 'the watch of the token bucket is lost';
    },
    [Symbol.asyncDispose]: () => watched[Symbol.asyncDispose](),
  };
}

/** The last bucket entry of a key. */
interface KnownToken {
  text: string;
  hash: string;
  caller: Caller;
}

function createCaller(record: string, projection: TokenProjection): Caller {
  const { id, scopes, tenant, client, sessions, lenient, budgets, agents, mcpClient, ver, expiresAt } = projection;
  const restrictions = { ...(sessions === 'own' ? { sessions } : {}), ...(budgets && { budgets }), ...(agents && { agents }) };
  const principal: Principal = { tenant, client, scopes, ...restrictions };
  return {
    principal,
    encodedPrincipal: encodePrincipal(principal),
    tokenId: id,
    record,
    key: bucketKey(tenant, client),
    scopes,
    lenient,
    mcpClient,
    may: { rpc: hasScope(scopes, 'rpc'), admin: hasScope(scopes, 'admin') },
    ver,
    expiresAt: expiresAt ?? NO_EXPIRY,
    incompleteBytes: 0,
    live: true,
  };
}

const BEARER = /^Bearer ([A-Za-z0-9\-._~+/]+=*)$/i;

/** The secret of an `Authorization` header; undefined unless the header is one well-formed bearer token. */
export function parseBearerSecret(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header)?.[1];
}
