import { ServiceError, type Principal } from '@switchyard/contracts';
import { inserted, type Collection, type Store } from '@switchyard/store';
import type { RateDocument } from '../documents/collections.ts';

const WINDOW_MS = 60_000;

/** Limits the calls of a client per minute over all replicas. Throws RESOURCE_EXHAUSTED with `retryAfterMs` above the limit. */
export type RateLimit = (principal: Principal, method: string, maxPerMinute: number) => Promise<void>;

/** Calls are stored before they are answered, so that the count survives a crash. */
export function createRateLimit(rates: Collection<RateDocument>, store: Pick<Store, 'now'>): RateLimit {
  return async (principal, method, maxPerMinute) => {
    const documents = rates.for(principal);
    const id = `${method} ${principal.client}`;
    for (;;) {
      const now = store.now();
      const stored = await documents.get(id);
      const recent = (stored?.calledAt ?? []).filter((time) => time > now - WINDOW_MS);
      const [oldest = now] = recent;
      if (recent.length >= maxPerMinute) throw rateLimited(method, maxPerMinute, oldest + WINDOW_MS - now);
      const calledAt = [...recent, now];
      const counted =
        stored === null
          ? await inserted(() => documents.insert({ id, calledAt, ver: 0 }))
          : await documents.update({ id, ver: stored.ver }, { set: { calledAt }, inc: { ver: 1 } });
      if (counted) return;
    }
  };
}

function rateLimited(method: string, maxPerMinute: number, retryAfterMs: number): ServiceError {
  const seconds = Math.ceil(retryAfterMs / 1_000);
  return new ServiceError('RESOURCE_EXHAUSTED', `${method} may be called ${maxPerMinute} times a minute. Try again in ${seconds} s.`, {
    details: { rate: true, retryAfterMs },
  });
}
