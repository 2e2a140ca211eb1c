import { ServiceError } from '@switchyard/contracts';
import type { Cache } from './port/cache.ts';
import { createMemoryCache } from './memory/memory-cache.ts';
import type { RedisCacheOptions } from './redis/redis-cache.ts';

/**
 * Opens the cache of a service at `memory:`, `redis://host:port` or `rediss://host:port`. Does not wait for an unreachable server. Throws
 * FAILED_PRECONDITION if the server rejects the credentials.
 */
export async function openCache(url: string, options: RedisCacheOptions): Promise<Cache> {
  if (url === 'memory:') return createMemoryCache();
  if (!isRedisUrl(url)) {
    throw new ServiceError('FAILED_PRECONDITION', 'the cache URL must be memory: or redis://host:port', {
      details: { reason: 'CACHE_URL' },
    });
  }
  // Imported on demand, so that the single-process profile does not load the Redis client.
  const { openRedisCache } = await import('./redis/redis-cache.ts');
  return openRedisCache(url, options);
}

/** Accepts one server, an optional database number and credentials that can be decoded. */
export function isRedisUrl(text: string): boolean {
  const url = /^rediss?:\/\//.test(text) ? URL.parse(text) : null;
  if (url === null || url.hostname === '' || url.search !== '' || url.hash !== '' || !/^(\/\d{0,4})?$/.test(url.pathname)) return false;
  try {
    decodeURIComponent(url.username + url.password);
    return true;
  } catch {
    return false;
  }
}
