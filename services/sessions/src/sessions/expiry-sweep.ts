import { atIntervals, type Clock } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import type { Agent, AgentDirectory } from '../agents/agent-directory.ts';
import type { SessionDocument } from '../model/session-document.ts';
import { DAY_MS } from '../model/retention.ts';
import { clearGone, emptied, idleAs, type EmptyingDeps } from './session-reset.ts';
import { sessionKeyObject } from './new-session.ts';
import { canExpire, expiryOf, type Expiry } from './reset-policy.ts';
import { parseSessionKey } from '../model/session-key.ts';

const PAGE = 200;
/** A write may be there so much later than the time that it bears. */
const LATE_MS = 60_000;

export interface ExpirySweepDeps extends EmptyingDeps {
  agents: Pick<AgentDirectory, 'everybody'>;
  log: Logger;
  clock: Clock;
  /** How often is looked whether a sweep is due. */
  lookMs: number;
}

type Policy = NonNullable<Agent['config']['session']['resetPolicy']>;
type Policies = ReadonlyMap<string, Policy>;

interface Swept {
  /** By the clock, when a sweep began last. */
  at: number;
  /** What it went by: with other policies all is looked at again. */
  by: string;
  /** Sessions that changed last before this are empty, or stay as they are until they change. */
  from: number;
}

/**
 * Empties conversations that are over by the policy of their agent, as often as it says, so that what is over is not kept until
 * somebody speaks again. A turn that begins does the same for its own (`turns/execution/auto-reset.ts`). Every replica may sweep at once: the
 * write is guarded as that of `session.reset`, so it happens once, and to none that has a turn.
 */
export function startExpirySweep(deps: ExpirySweepDeps): AsyncDisposable {
  const { agents, clock, log, lookMs } = deps;
  const swept = new Map<string, Swept>();

  async function sweep(closed: () => boolean): Promise<void> {
    for (const [tenant, policies] of policiesOf(agents)) {
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
    log.warn({ err, errorKind: 'dependency', hint: 'it is tried again' }, 'conversations that are over were not emptied');
  return atIntervals({ clock, ms: lookMs, failed }, sweep);
}

/** Those of the agents of each tenant that have one. */
function policiesOf(agents: ExpirySweepDeps['agents']): Map<string, Map<string, Policy>> {
  const byTenant = new Map<string, Map<string, Policy>>();
  for (const { tenant, agentId, config } of agents.everybody()) {
    const policy = config.session.resetPolicy;
    if (policy) byTenant.set(tenant, (byTenant.get(tenant) ?? new Map<string, Policy>()).set(agentId, policy));
  }
  return byTenant;
}

interface Sweeping {
  policies: Policies;
  from: number;
  closed: () => boolean;
}

/** Gives where the next sweep is to begin: what changed last before anything that may still be over one day. */
async function sweepTenant(deps: ExpirySweepDeps, tenant: string, { policies, from, closed }: Sweeping): Promise<number> {
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
      const reason = expiryOf(policy, session, now);
      if (reason === undefined || !(await expire(deps, tenant, { session, reason }))) next ??= session.updatedAt;
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return Math.min(next ?? now, now - LATE_MS);
}

/** False where a turn came between, which does it itself. */
async function expire(
  deps: ExpirySweepDeps,
  tenant: string,
  { session, reason }: { session: SessionDocument; reason: Expiry },
): Promise<boolean> {
  const { sessions, gone, store } = deps;
  if (session.depth > 0) return false;
  const { key, epoch, userId, channelId } = session;
  const note = { epoch, sessionKey: key, at: store.now() };
  // Whoever dies after the next write leaves turns that this note leads to.
  await gone.for({ tenant }).replace(note);
  const identity = parseSessionKey(key) ?? { tenant, userId, channelId };
  const expired = { name: 'session:expired', payload: { sessionKey: sessionKeyObject(identity), reason } };
  const done = await sessions.for({ tenant }).update(idleAs(session, store.now()), emptied(store.now(), [expired]));
  await clearGone({ ...deps, forgetAt: store.now() + DAY_MS }, tenant, note);
  return done !== null;
}
