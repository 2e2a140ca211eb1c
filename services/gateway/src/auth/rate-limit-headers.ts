import type { Rate } from '@switchyard/cache';
import type { RateLimiter } from './rate-limits.ts';

/**
 * The `x-ratelimit-*` headers of `/v1`, as alternating names and values. The reset time is the time until the whole window is free.
 * Counts of other gateways may be missing for up to one sync interval.
 */
export function createRateLimitHeaders(requests: RateLimiter, key: string, rate: Rate): string[] {
  return [
    'x-ratelimit-limit-requests',
    String(rate.max),
    'x-ratelimit-remaining-requests',
    String(requests.getRemaining(key, rate)),
    'x-ratelimit-reset-requests',
    formatDuration(requests.getResetMs(key, rate)),
  ];
}

/** Formats as `0s`, `59s`, `1m0s`, rounded up. */
function formatDuration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
