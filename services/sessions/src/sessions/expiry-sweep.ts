import { atIntervals, type Clock } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import type { Agent, AgentDirectory } from '../agents/agent-directory.ts';
import type { SessionDocument } from '../model/session-document.ts';
import { DAY_MS } from '../model/retention.ts';
import { clearEndedEpoch, freeStorage, newEpochChange, idleGuard, type SessionResetDeps } from './session-reset.ts';
import { sessionKeyObject } from './new-session.ts';
import { canExpire, getExpiry, type Expiry } from './reset-policy.ts';
import { parseSessionKey } from '../model/session-key.ts';

const PAGE = 200;
/** Maximum delay between the timestamp of a write and its visibility. */
const MAX_WRITE_DELAY_MS = 60_000;

export interface ExpirySweepDeps extends SessionResetDeps {
  agents: Pick<AgentDirectory, 'listAllTenants'>;
  log: Logger;
  clock: Clock;
  /** Interval at which due sweeps are checked. */
  pollMs: number;
}

type Policy = NonNullable<Agent['config']['session']['resetPolicy']>;
type Policies = ReadonlyMap<string, Policy>;

interface TenantSweep {
  /** Clock time at which the last sweep began. */
  at: number;
  /** Policies of the last sweep. After a change all sessions are checked again. */
  by: string;
  /** Sessions last changed before this time are empty or cannot expire until they change. */
  from: number;
}

/**
 * Resets sessions that have expired by the policy of their agent, so that they are not kept until the next message. A starting turn resets
 * its own session (`turns/execution/auto-reset.ts`). All replicas may sweep at the same time: the write has the guard of `session.reset`,
 * so it happens once and never to a session with a turn.
 */
export function startExpirySweep(deps: ExpirySweepDeps): AsyncDisposable {
  const { agents, clock, log, pollMs } = deps;
  const swept = new Map<string, TenantSweep>();

  async function sweep(closed: () => boolean): Promise<void> {
    for (const [tenant, policies] of collectPolicies(agents)) {
      const by = JSON.stringify([...policies]);
      const before = swept.get(tenant);
      const everyMs = Math.min(...[...policies.values()].map(({ sweepIntervalMs }) => sweepIntervalMs));
      if (closed() || (before?.by === by && clock.now() - before.at < everyMs)) continue;
      const at = clock.now();
      const from = await sweepTenant(deps, tenant, { policies, from: before?.by === by ? before.from : 0, closed });
      swept.set(tenant, { at, by, from });
    }
  }

  const failed = (err: unknown): void =>
    log.warn({ err, errorKind: 'dependency', hint: 'retrying' }, 'failed to reset expired sessions; retrying');
  return atIntervals({ clock, ms: pollMs, failed }, sweep);
}

/** Collects the reset policies of all agents by tenant. */
function collectPolicies(agents: ExpirySweepDeps['agents']): Map<string, Map<string, Policy>> {
  const byTenant = new Map<string, Map<string, Policy>>();
  for (const { tenant, agentId, config } of agents.listAllTenants()) {
    const policy = config.session.resetPolicy;
    if (policy) byTenant.set(tenant, (byTenant.get(tenant) ?? new Map<string, Policy>()).set(agentId, policy));
  }
  return byTenant;
}

interface SweepOptions {
  policies: Policies;
  from: number;
  closed: () => boolean;
}

/** Returns the start time of the next sweep: the last change of the oldest session that may still expire. */
async function sweepTenant(deps: ExpirySweepDeps, tenant: string, { policies, from, closed }: SweepOptions): Promise<number> {
  const mine = deps.sessions.for({ tenant });
  const now = deps.store.now();
  let next: number | undefined;
  let cursor: string | undefined;
  do {
    const page = await mine.find(
      { updatedAt: { gte: from, lt: now } },
      { sort: [['updatedAt', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
    );
    for (const session of page.items) {
      if (closed()) return from;
      const policy = policies.get(session.agentId);
      if (!policy || !canExpire(policy, session)) continue;
      const reason = getExpiry(policy, session, now);
      if (reason === undefined || !(await expire(deps, tenant, { session, reason }))) next ??= session.updatedAt;
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return Math.min(next ?? now, now - MAX_WRITE_DELAY_MS);
}

/** Returns false if a turn arrived meanwhile, which resets the session itself. */
async function expire(
  deps: ExpirySweepDeps,
  tenant: string,
  { session, reason }: { session: SessionDocument; reason: Expiry },
): Promise<boolean> {
  const { sessions, gone, store } = deps;
  if (session.depth > 0) return false;
  const { key, epoch, userId, channelId } = session;
  const note = { epoch, sessionKey: key, at: store.now() };
  // After a crash this record leads a sweep to the turns of the old epoch.
  await gone.for({ tenant }).replace(note);
  const identity = parseSessionKey(key) ?? { tenant, userId, channelId };
  const expired = { name: 'session:expired', payload: { sessionKey: sessionKeyObject(identity), reason } };
  const done = await sessions.for({ tenant }).update(idleGuard(session, store.now()), newEpochChange(store.now(), [expired]));
  if (done) freeStorage(deps, tenant, session);
  await clearEndedEpoch({ ...deps, forgetAt: store.now() + DAY_MS }, tenant, note);
  return done !== null;
}
