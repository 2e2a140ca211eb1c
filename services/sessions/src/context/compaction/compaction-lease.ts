import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import type { Documents, Store } from '@switchyard/store';
import type { SessionDocument } from '../../model/session-document.ts';
import { renewCompaction, type Claim } from './compaction-store.ts';

/** Lease TTL. The holder renews the lease every `RENEW_MS`. A crashed holder blocks other replicas for at most this long. */
export const CLAIM_MS = 10_000;
const RENEW_MS = 3_000;

/** A compaction lease with automatic renewal. */
export interface KeptClaim extends Disposable {
  /** Aborts when another replica holds the lease, because the result could no longer be stored. */
  readonly signal: AbortSignal;
}

export function keepClaim(
  { clock, store }: { clock: Clock; store: Pick<Store, 'now'> },
  sessions: Documents<SessionDocument>,
  claim: Claim,
): KeptClaim {
  const lost = new AbortController();
  const stop = clock.every(RENEW_MS, () => {
    renewCompaction(sessions, claim, store.now() + CLAIM_MS).then(
      (renewed) => {
        if (!renewed) lost.abort(claimLost());
      },
      // A failed renewal is repeated at the next interval. If the lease expires meanwhile, the fence protects the tree.
      () => undefined,
    );
  });
  return { signal: lost.signal, [Symbol.dispose]: stop };
}

function claimLost(): ServiceError {
  return new ServiceError('ABORTED', 'Another replica writes this summary, or the conversation was reset.', {
    details: { reason: 'CLAIM_LOST' },
  });
}
