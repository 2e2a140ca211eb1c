import { atIntervals, type Clock } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import { DAY_MS } from '../model/retention.ts';
import { removeSegment, type ResponseChainDeps } from './response-segment.ts';

/** Segments that one deletion removes. The sweep removes the others. */
const MAX_REMOVALS = 100;
const SWEEP_BATCH_SIZE = 100;
const MAX_SWEEP_BATCHES = 10;

/** Removes the segment of a response, and those before it, as far as no response continues from them. */
export async function removeUnusedSegments(deps: ResponseChainDeps, tenant: string, turnId: string): Promise<void> {
  const segments = deps.segments.for({ tenant });
  let next: string | undefined = turnId;
  for (let removals = 0; next !== undefined && removals < MAX_REMOVALS; removals += 1) {
    const segment = await segments.get(next);
    if (!segment || (await isContinued(deps, tenant, next))) return;
    if (!(await removeSegment(deps, { tenant }, segment))) return;
    next = segment.previous;
  }
}

async function isContinued({ kept, segments, store }: ResponseChainDeps, tenant: string, turnId: string): Promise<boolean> {
  const mine = { tenant };
  const responses = await kept.for(mine).find({ previous: turnId, forgetAt: { gt: store.now() } }, { limit: 1 });
  if (responses.items.length > 0) return true;
  return (await segments.for(mine).find({ previous: turnId }, { limit: 1 })).items.length > 0;
}

/**
 * Removes segments whose last continuing response has expired, or whose removal was interrupted. Each segment is checked once a day. All
 * replicas may sweep at the same time.
 */
export function startSegmentSweep(deps: ResponseChainDeps & { clock: Clock; log: Logger; pollMs: number }): AsyncDisposable {
  const { segments, store, clock, log, pollMs } = deps;
  const failed = (err: unknown): void =>
    log.warn({ err, errorKind: 'dependency', hint: 'retrying' }, 'failed to remove unused response segments; retrying');
  return atIntervals({ clock, ms: pollMs, failed }, async (closed) => {
    for (let batch = 0; batch < MAX_SWEEP_BATCHES; batch += 1) {
      const { items } = await segments.system().find({ checkAt: { lte: store.now() } }, { limit: SWEEP_BATCH_SIZE });
      if (items.length === 0) return;
      for (const { tenant, turnId } of items) {
        if (closed()) return;
        await removeUnusedSegments(deps, tenant, turnId);
        await segments.for({ tenant }).update({ turnId }, { set: { checkAt: store.now() + DAY_MS } });
      }
    }
  });
}
