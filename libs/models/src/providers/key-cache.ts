import { isOauthTokenName, ServiceError } from '@switchyard/contracts';

/** A key: the name of its secret, and the origin that it is bound to, if any. */
export interface KeyRef {
  keyName: string | undefined;
  keyOrigin: string | undefined;
}

/** Caches provider keys, so that a turn does not read secrets for each call. */
export interface KeyCache {
  get(keyRefs: KeyRef): Promise<string | undefined>;
  /** Returns the time in epoch milliseconds until which all these keys are cached; 0 if one is not. */
  cachedUntil(keyRefs: readonly KeyRef[]): number;
  /** Removes a key that a provider rejected. */
  invalidate(name: string | undefined): void;
  /** Removes all keys after a secret was changed. */
  clear(): void;
}

export interface KeyCacheOptions {
  secret: (name: string, origin?: string) => Promise<string | null>;
  env: Readonly<Record<string, string | undefined>>;
  ttlMs: number;
}

interface CachedKey {
  name: string;
  value: Promise<string | undefined>;
  until: number;
}

// An absent key is cached briefly, so that a new key takes effect soon.
const ABSENT_TTL_MS = 2_000;

export function createKeyCache({ secret, env, ttlMs }: KeyCacheOptions): KeyCache {
  const cache = new Map<string, CachedKey>();

  async function read(name: string, origin: string | undefined): Promise<string | undefined> {
    // OAuth tokens are read from the secrets service only, which enforces where they may be stored.
    return (await secret(name, origin)) || (isOauthTokenName(name) ? undefined : env[name]) || undefined;
  }

  return {
    async get({ keyName: name, keyOrigin: origin }) {
      if (name === undefined) return undefined;
      const cacheKey = formatCacheKey(name, origin);
      const cached = cache.get(cacheKey);
      if (cached !== undefined && cached.until > Date.now()) return cached.value;
      const entry = { name, value: read(name, origin), until: Date.now() + ttlMs };
      cache.set(cacheKey, entry);
      entry.value.then(
        (value) => {
          if (value === undefined) entry.until = Math.min(entry.until, Date.now() + ABSENT_TTL_MS);
        },
        (error: unknown) => {
          if (isKeyOriginError(error)) entry.until = Math.min(entry.until, Date.now() + ABSENT_TTL_MS);
          else cache.delete(cacheKey);
        },
      );
      return entry.value;
    },
    cachedUntil: (keyRefs) =>
      Math.min(
        ...keyRefs.map(({ keyName: name, keyOrigin }) =>
          name === undefined ? Infinity : (cache.get(formatCacheKey(name, keyOrigin))?.until ?? 0),
        ),
      ),
    invalidate(name) {
      for (const [cacheKey, entry] of cache) if (entry.name === name) cache.delete(cacheKey);
    },
    clear: () => cache.clear(),
  };
}

function formatCacheKey(name: string, origin: string | undefined): string {
  return origin === undefined ? name : `${name} ${origin}`;
}

/** Returns whether the secrets service rejected the key because it is bound to another origin. */
export function isKeyOriginError(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.details['reason'] === 'KEY_ORIGIN';
}
