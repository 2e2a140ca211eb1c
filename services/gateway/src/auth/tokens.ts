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

/** Nothing vouches for the tokens any more once their watch has been lost this long. */
const STALE_AFTER_MS = 5_000;
const Entry = z.union([TokensCompleteMarker, TokenProjection]);
/** Secrets whose caller is cached, so that they are not hashed again. */
const MAX_VERIFIED_SECRETS = 10_000;

const NEVER = Number.POSITIVE_INFINITY;

export interface Tokens {
  /** Who the secret belongs to; undefined when it is unknown, expired, or cannot be vouched for now. */
  authenticate(secret: string): Caller | undefined;
  /** Whose record it is, while their token is good. */
  byRecord(record: string): Caller | undefined;
  /** Whether a caller authenticated earlier still is who they were. */
  valid(caller: Caller): boolean;
  /** Whether the token is known to be no more: revoked, rotated, changed or expired. */
  ended(caller: Caller): boolean;
  /** Whether a stream to the caller may go on. Nothing flows while the bus is away, so it may outlast the loss of the watch. */
  admits(caller: Caller): boolean;
  /** Whether the tokens can be vouched for now. */
  sound(): boolean;
  /** Why nobody at all can be let in now; undefined while somebody can. */
  outage(): string | undefined;
}

export interface TokensOptions {
  bus: Bus;
  log: Logger;
  /** Called with the first revision, and after each change is in force. */
  onRevision?: (revision: number) => void;
}

/** Keeps every live token in memory, current within milliseconds of a change. */
export async function openTokens({ bus, log, onRevision = () => undefined }: TokensOptions): Promise<Tokens & AsyncDisposable> {
  const watched = await watchBucket(bus, TOKENS_BUCKET, Entry, log);
  const byKey = new Map<string, Known>();
  const byHash = new Map<string, Caller>();
  const verified = new LRUCache<string, Caller>({ max: MAX_VERIFIED_SECRETS });
  /** Keys that the bucket has no more, of which it is not known that their tokens are no more. */
  const missing = new Set<string>();
  let told = false;

  function apply(key: string, projection: TokenProjection | undefined): void {
    const known = byKey.get(key);
    const text = projection && JSON.stringify(projection);
    if (known?.text === text) return;
    verified.clear();
    if (known) forget(key, known);
    if (!projection || text === undefined) return;
    const caller = createCaller(key, projection);
    byKey.set(key, { text, hash: projection.hash, caller });
    byHash.set(projection.hash, caller);
  }

  function forget(key: string, known: Known): void {
    known.caller.live = false;
    byKey.delete(key);
    if (byHash.get(known.hash) === known.caller) byHash.delete(known.hash);
  }

  function take(key: string, entry: z.infer<typeof Entry> | undefined): void {
    if (key === TOKENS_COMPLETE_KEY) told = entry !== undefined;
    else if (entry === undefined || 'told' in entry) missing.add(key);
    else {
      missing.delete(key);
      apply(key, entry);
    }
  }

  /** A bus that lost what it kept loses the word that all was told, too. Then no token has ended because it is missing. */
  function settle(): void {
    if (told) {
      for (const key of missing) apply(key, undefined);
      missing.clear();
    }
    onRevision(watched.revision);
  }

  for (const [key, entry] of watched.entries) take(key, entry);
  settle();
  watched.onChange((key, entry) => {
    take(key, entry);
    // All that is lost together is known by then.
    queueMicrotask(settle);
  });

  function sound(): boolean {
    if (!told) return false;
    const lost = watched.lostSince();
    return lost === undefined || Date.now() - lost < STALE_AFTER_MS;
  }

  function ended({ live, expiresAt }: Caller): boolean {
    return !live || (expiresAt !== NEVER && expiresAt <= Date.now());
  }

  function valid(caller: Caller): boolean {
    return !ended(caller) && sound();
  }

  function find(secret: string): Caller | undefined {
    const seen = verified.get(secret);
    if (seen) return seen;
    const caller = byHash.get(hashToken(secret));
    if (!caller) return undefined;
    verified.set(secret, caller);
    return caller;
  }

  return {
    authenticate(secret) {
      const caller = find(secret);
      return caller && valid(caller) ? caller : undefined;
    },
    byRecord(record) {
      const caller = byKey.get(record)?.caller;
      return caller && valid(caller) ? caller : undefined;
    },
    valid,
    ended,
    admits: (caller) => !ended(caller) && (sound() || !bus.connected()),
    sound,
    outage() {
      if (byHash.size === 0) return 'no token is known: the secrets service has told none';
      if (!told) return 'the secrets service has not told all tokens anew';
      return sound() ? undefined : 'nothing vouches for the tokens';
    },
    [Symbol.asyncDispose]: () => watched[Symbol.asyncDispose](),
  };
}

/** What the bucket said last under a key. */
interface Known {
  text: string;
  hash: string;
  caller: Caller;
}

function createCaller(record: string, projection: TokenProjection): Caller {
  const { id, scopes, tenant, client, sessions, lenient, budgets, agents, mcpClient, ver, expiresAt } = projection;
  const held = { ...(sessions === 'own' ? { sessions } : {}), ...(budgets && { budgets }), ...(agents && { agents }) };
  const principal: Principal = { tenant, client, scopes, ...held };
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
    expiresAt: expiresAt ?? NEVER,
    unfinished: 0,
    live: true,
  };
}

const BEARER = /^Bearer ([A-Za-z0-9\-._~+/]+=*)$/i;

/** The secret in an `Authorization` header; undefined for anything but one well-formed bearer token. */
export function bearerSecret(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header)?.[1];
}
