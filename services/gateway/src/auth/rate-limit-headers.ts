import type { Rate } from '@switchyard/cache';
import type { RateLimiter } from './rate-limits.ts';

/**
 * Where a client stands against its rate of requests, as clients of `/v1` know it: names and values in turn. The time is until all of
 * the rate is there again. Other gateways may have let something through that is not heard of here yet.
 */
export function rateHeaders(requests: RateLimiter, key: string, rate: Rate): string[] {
  return [
    'x-ratelimit-limit-requests',
    String(rate.max),
    'x-ratelimit-remaining-requests',
    String(requests.left(key, rate)),
    'x-ratelimit-reset-requests',
    duration(requests.clearIn(key, rate)),
  ];
}

/** `0s`, `59s`, `1m0s`: never less than is left. */
function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
