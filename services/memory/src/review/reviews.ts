import { AGENTS_BUCKET, AgentConfig, AgentProjection, servicePrincipal } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { atIntervals, resolveReferences, watchBucket, type Clock, type Variables } from '@switchyard/service-kit';
import { inserted, type Collection } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { Cron } from 'croner';
import type { ReviewDocument } from '../documents/collections.ts';
import { consolidate } from './consolidation.ts';
import type { ObservationDeps } from './observation.ts';

export interface ReviewDeps extends ObservationDeps {
  reviews: Collection<ReviewDocument>;
  bus: Bus;
  env: Variables;
  clock: Clock;
  log: Logger;
  /** Interval of the check for due reviews. */
  reviewMs: number;
}

interface ReviewCheck {
  tenant: string;
  agentId: string;
  review: AgentConfig['memoryReview'];
  /** Invalid schedules by agent. Each is logged once. */
  invalidSchedules: Map<string, string>;
}

/**
 * Reviews the memories of agents on the schedule of `memoryReview`, once per scheduled time over all replicas. A crashed review leaves
 * valid memories, and the next review continues.
 */
export async function startReviews(deps: ReviewDeps): Promise<AsyncDisposable> {
  const { bus, env, clock, log, reviewMs } = deps;
  const resolve = (config: Record<string, unknown>): Record<string, unknown> => resolveReferences(config, env);
  const schema = AgentProjection.extend({ config: AgentProjection.shape.config.transform(resolve).pipe(AgentConfig) });
  const agents = await watchBucket(bus, AGENTS_BUCKET, schema, log);
  const invalidSchedules = new Map<string, string>();
  const onFailure = (err: unknown): void => {
    log.warn({ err, errorKind: 'dependency', hint: 'the next review continues' }, 'failed to review memories');
  };
  const reviewing = atIntervals({ clock, ms: reviewMs, failed: onFailure }, async (closed) => {
    for (const { tenant, agentId, suspended, config } of agents.entries.values()) {
      if (closed()) return;
      const { memoryReview: review } = config;
      if (review.enabled && !suspended) await reviewWhenDue(deps, { tenant, agentId, review, invalidSchedules }, closed);
    }
  });
  return {
    async [Symbol.asyncDispose]() {
      await reviewing[Symbol.asyncDispose]();
      await agents[Symbol.asyncDispose]();
    },
  };
}

async function reviewWhenDue(
  deps: ReviewDeps,
  { tenant, agentId, review, invalidSchedules }: ReviewCheck,
  closed: () => boolean,
): Promise<void> {
  const { bus, store, log } = deps;
  const dueAt = getLastScheduledTime(review.schedule, store.now());
  const name = `${tenant} ${agentId}`;
  if (dueAt === undefined) {
    if (invalidSchedules.get(name) === review.schedule) return;
    invalidSchedules.set(name, review.schedule);
    log.warn(
      { tenant, agentId, errorKind: 'config', hint: 'expected a cron expression like 0 2 * * *' },
      'memoryReview.schedule is invalid',
    );
    return;
  }
  invalidSchedules.delete(name);
  if (!(await claimReview(deps, { tenant, agentId, dueAt }))) return;
  const startedAt = performance.now();
  const { dedupThreshold: threshold, autoTags } = review;
  const reviewed = await consolidate(deps, { tenant, agentId, threshold, autoTags, limits: review, closed });
  const durationMs = Math.round(performance.now() - startedAt);
  log.info({ tenant, agentId, ...reviewed, durationMs }, 'memories were reviewed');
  bus.as(servicePrincipal('memory', tenant)).emit('memory:consolidated', { timestamp: store.now(), agentId, ...reviewed, durationMs });
}

/** The last scheduled time in the past. Undefined for an invalid schedule. */
function getLastScheduledTime(schedule: string, now: number): number | undefined {
  try {
    return new Cron(schedule).previousRuns(1, new Date(now))[0]?.getTime();
  } catch {
    return undefined;
  }
}

/** Claims a scheduled time for this replica. The first check of an agent only records the time, so that no past review runs. */
async function claimReview(
  { reviews }: ReviewDeps,
  { tenant, agentId, dueAt }: { tenant: string; agentId: string; dueAt: number },
): Promise<boolean> {
  const documents = reviews.for({ tenant });
  if (await documents.update({ agentId, dueAt: { lt: dueAt } }, { set: { dueAt } })) return true;
  if ((await documents.get(agentId)) === null) await inserted(() => documents.insert({ agentId, dueAt }));
  return false;
}
