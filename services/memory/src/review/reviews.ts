import { servicePrincipal, type AgentConfig } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { atIntervals, openAgentDirectory, type Clock, type Variables } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { createWork, newWork, type Lease, type Outcome } from '@switchyard/work';
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
  replica: string;
  /** Interval at which schedules are compared with the documents. */
  reviewMs: number;
}

/** Reviews that run at once on this replica. */
const CAPACITY = 1;
/** A review that crashed its process this often in a row waits for the next scheduled time. */
const MAX_ATTEMPTS = 3;

/**
 * Reviews the memories of agents on the schedule of `memoryReview`, once per scheduled time over all replicas. A crashed review leaves
 * valid memories, and another replica continues it.
 */
export async function startReviews(deps: ReviewDeps): Promise<AsyncDisposable> {
  const { bus, env, clock, log, replica, reviewMs, reviews, store } = deps;
  const agents = await openAgentDirectory(bus, env, log);
  const getReview = (tenant: string, agentId: string): Review | undefined => {
    const agent = agents.find(tenant, agentId);
    return agent && !agent.suspended && agent.config.memoryReview.enabled ? agent.config.memoryReview : undefined;
  };
  const work = createWork<ReviewDocument>({
    documents: reviews,
    owner: replica,
    now: () => store.now(),
    clock,
    capacity: () => CAPACITY,
    run: (lease) => runReview(deps, lease, getReview(lease.tenant, lease.document.agentId)),
    poison: { maxAttempts: MAX_ATTEMPTS, outcome: ({ schedule = NEVER }) => waitForNext(schedule, store.now()) },
    log,
  });
  /** Schedules by agent, as far as this replica has compared them with the documents. */
  const known = new Map<string, string>();
  const onFailure = (err: unknown): void => {
    log.warn({ err, errorKind: 'dependency', hint: 'retried in a moment' }, 'failed to schedule memory reviews');
  };
  const scheduling = atIntervals({ clock, ms: reviewMs, failed: onFailure }, async (closed) => {
    for (const { tenant, agentId } of agents.listAllTenants()) {
      if (closed()) return;
      const schedule = getReview(tenant, agentId)?.schedule;
      const name = `${tenant} ${agentId}`;
      if (schedule === undefined || known.get(name) === schedule) continue;
      const fireAt = getNextTime(schedule, store.now());
      if (fireAt === undefined) {
        const hint = 'expected a cron expression like 0 2 * * *';
        log.warn({ tenant, agentId, errorKind: 'config', hint }, 'memoryReview.schedule is invalid');
      } else {
        const { document } = await work.add({ tenant }, { ...newWork(), agentId, schedule, fireAt }, { dueAt: fireAt });
        if (document.schedule !== schedule) await work.wake(tenant, agentId, { set: { schedule, fireAt } });
      }
      known.set(name, schedule);
      work.startDue();
    }
  });
  work.startDue();
  return {
    async [Symbol.asyncDispose]() {
      await scheduling[Symbol.asyncDispose]();
      await work[Symbol.asyncDispose]();
      await agents[Symbol.asyncDispose]();
    },
  };
}

type Review = AgentConfig['memoryReview'];

/** Fires in no year, for documents of an earlier version. */
const NEVER = '0 0 31 2 *';
const DAY_MS = 86_400_000;

async function runReview(deps: ReviewDeps, lease: Lease<ReviewDocument>, review: Review | undefined): Promise<Outcome<ReviewDocument>> {
  const { bus, store, log } = deps;
  const { tenant, document } = lease;
  const { agentId, schedule, fireAt = Infinity } = document;
  const now = store.now();
  // A disabled review keeps its schedule, so that it continues when it is enabled again.
  if (!review || fireAt > now) return fireAt > now && fireAt < Infinity ? { parkUntil: fireAt } : waitForNext(schedule ?? NEVER, now);
  const startedAt = performance.now();
  const { dedupThreshold: threshold, autoTags } = review;
  const closed = () => !lease.isHeld();
  const reviewed = await consolidate(deps, { tenant, agentId, threshold, autoTags, limits: review, closed });
  const durationMs = Math.round(performance.now() - startedAt);
  log.info({ tenant, agentId, ...reviewed, durationMs }, 'memories were reviewed');
  bus.as(servicePrincipal('memory', tenant)).emit('memory:consolidated', { timestamp: store.now(), agentId, ...reviewed, durationMs });
  return waitForNext(review.schedule, store.now());
}

/** Parks until the next scheduled time. Times that passed meanwhile are skipped. */
function waitForNext(schedule: string, now: number): Outcome<ReviewDocument> {
  const fireAt = getNextTime(schedule, now);
  return fireAt === undefined ? { parkUntil: now + DAY_MS } : { set: { schedule, fireAt }, parkUntil: fireAt };
}

/** The next scheduled time. Undefined for an invalid schedule, or one that never fires. */
function getNextTime(schedule: string, now: number): number | undefined {
  try {
    return new Cron(schedule).nextRun(new Date(now))?.getTime();
  } catch {
    return undefined;
  }
}
