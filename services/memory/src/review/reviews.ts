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
  /** How often is looked whether a review is due. */
  reviewMs: number;
}

interface Due {
  tenant: string;
  agentId: string;
  review: AgentConfig['memoryReview'];
  /** Schedules that are none, by agent: each is warned of once. */
  refused: Map<string, string>;
}

/**
 * Reviews what agents remember, when their `memoryReview` says so: once for each time of the schedule, however many replicas there are.
 * Who dies over a review leaves memories as they are, and the next one goes on.
 */
export async function startReviewing(deps: ReviewDeps): Promise<AsyncDisposable> {
  const { bus, env, clock, log, reviewMs } = deps;
  const meant = (written: Record<string, unknown>): Record<string, unknown> => resolveReferences(written, env);
  const schema = AgentProjection.extend({ config: AgentProjection.shape.config.transform(meant).pipe(AgentConfig) });
  const agents = await watchBucket(bus, AGENTS_BUCKET, schema, log);
  const refused = new Map<string, string>();
  const failed = (err: unknown): void => {
    log.warn({ err, errorKind: 'dependency', hint: 'the next review goes on' }, 'memories were not reviewed');
  };
  const reviewing = atIntervals({ clock, ms: reviewMs, failed }, async (closed) => {
    for (const { tenant, agentId, suspended, config } of agents.entries.values()) {
      if (closed()) return;
      const { memoryReview: review } = config;
      if (review.enabled && !suspended) await reviewWhenDue(deps, { tenant, agentId, review, refused }, closed);
    }
  });
  return {
    async [Symbol.asyncDispose]() {
      await reviewing[Symbol.asyncDispose]();
      await agents[Symbol.asyncDispose]();
    },
  };
}

async function reviewWhenDue(deps: ReviewDeps, { tenant, agentId, review, refused }: Due, closed: () => boolean): Promise<void> {
  const { bus, store, log } = deps;
  const dueAt = lastTime(review.schedule, store.now());
  const name = `${tenant} ${agentId}`;
  if (dueAt === undefined) {
    if (refused.get(name) === review.schedule) return;
    refused.set(name, review.schedule);
    log.warn({ tenant, agentId, errorKind: 'config', hint: 'expected a cron expression like 0 2 * * *' }, 'memoryReview.schedule is none');
    return;
  }
  refused.delete(name);
  if (!(await claim(deps, { tenant, agentId, dueAt }))) return;
  const startedAt = performance.now();
  const { dedupThreshold: threshold, autoTags } = review;
  const reviewed = await consolidate(deps, { tenant, agentId, threshold, autoTags, limits: review, closed });
  const durationMs = Math.round(performance.now() - startedAt);
  log.info({ tenant, agentId, ...reviewed, durationMs }, 'memories were reviewed');
  bus.as(servicePrincipal('memory', tenant)).emit('memory:consolidated', { timestamp: store.now(), agentId, ...reviewed, durationMs });
}

/** The last time of a schedule that has come. Undefined for what is no schedule. */
function lastTime(schedule: string, now: number): number | undefined {
  try {
    return new Cron(schedule).previousRuns(1, new Date(now))[0]?.getTime();
  } catch {
    return undefined;
  }
}

/** One replica has it for each time. Of an agent whose review was turned on just now no time that was before counts. */
async function claim(
  { reviews }: ReviewDeps,
  { tenant, agentId, dueAt }: { tenant: string; agentId: string; dueAt: number },
): Promise<boolean> {
  const mine = reviews.for({ tenant });
  if (await mine.update({ agentId, dueAt: { lt: dueAt } }, { set: { dueAt } })) return true;
  if ((await mine.get(agentId)) === null) await inserted(() => mine.insert({ agentId, dueAt }));
  return false;
}
