import { ServiceError } from '@switchyard/contracts';
import type { Cache } from './port/cache.ts';
import { createMemoryCache } from './memory/memory-cache.ts';
import type { RedisCacheOptions } from './redis/redis-cache.ts';

/**
 * Opens one service's cache behind a URL: `memory:`, `redis://host:port` or `rediss://host:port`. A server that is away is not
 * waited for; one that refuses the credentials is FAILED_PRECONDITION.
 */
export async function openCache(url: string, options: RedisCacheOptions): Promise<Cache> {
  if (url === 'memory:') return createMemoryCache();
  if (!isRedisUrl(url)) {
    throw new ServiceError('FAILED_PRECONDITION', 'the cache URL must be memory: or redis://host:port', {
      details: { reason: 'CACHE_URL' },
    });
  }
  // Loaded when needed: a process with everything inside never touches it.
  const { openRedisCache } = await import('./redis/redis-cache.ts');
  return openRedisCache(url, options);
}

/** One server, and at most the number of a database; what stands before the @ must be readable. */
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
