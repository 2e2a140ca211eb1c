import { ServiceError, type Principal } from '@switchyard/contracts';
import { inserted, type Collection, type Store } from '@switchyard/store';
import type { RateDocument } from '../documents/collections.ts';

const WINDOW_MS = 60_000;

/** Limits the calls of a client per minute over all replicas. Throws RESOURCE_EXHAUSTED with `retryAfterMs` above the limit. */
export type Rate = (principal: Principal, method: string, most: number) => Promise<void>;

/** Calls are stored before they are answered, so that the count survives a crash. */
export function createRate(rates: Collection<RateDocument>, store: Pick<Store, 'now'>): Rate {
  return async (principal, method, most) => {
    const documents = rates.for(principal);
    const id = `${method} ${principal.client}`;
    for (;;) {
      const now = store.now();
      const kept = await documents.get(id);
      const recent = (kept?.at ?? []).filter((at) => at > now - WINDOW_MS);
      const [oldest = now] = recent;
      if (recent.length >= most) throw tooMany(method, most, oldest + WINDOW_MS - now);
      const at = [...recent, now];
      const counted =
        kept === null
          ? await inserted(() => documents.insert({ id, at, ver: 0 }))
          : await documents.update({ id, ver: kept.ver }, { set: { at }, inc: { ver: 1 } });
      if (counted) return;
    }
  };
}

function tooMany(method: string, most: number, retryAfterMs: number): ServiceError {
  const seconds = Math.ceil(retryAfterMs / 1_000);
  return new ServiceError('RESOURCE_EXHAUSTED', `${method} may be called ${most} times a minute. Try again in ${seconds} s.`, {
    details: { rate: true, retryAfterMs },
  });
}
