import { ServiceError, type Params } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { Agent, AgentDirectory } from '../../agents/agent-directory.ts';
import type { SessionDocument } from '../../model/session-document.ts';
import type { SummaryDocument } from '../../model/summary-document.ts';
import { DAY_MS } from '../../model/retention.ts';
import { isForeign } from '../../screening/untrusted-message.ts';

/*
 * Stores conversation summaries as memories of the agent (`memory.distillFromLcd`). A new summary is written with a flag
 * (`undistilled`), which is removed once the memory service has stored it. After a crash a sweep finds the flag and repeats the call,
 * which is idempotent. A summary that is not in the tree was never in a prompt and is not stored as a memory.
 */

export interface Distilling {
  /** Notifies the memory service of a summary that was added to the tree. Returns immediately. A sweep repeats failed notifications. */
  tell(tenant: string, session: SessionDocument, summary: SummaryDocument): void;
  sweep(): Promise<void>;
}

export interface DistillingDeps {
  sessions: Collection<SessionDocument>;
  summaries: Collection<SummaryDocument>;
  agents: AgentDirectory;
  store: Pick<Store, 'now'>;
  bus: Pick<Bus, 'as'>;
  log: Logger;
}

/** Age after which a flagged summary is swept. Its process crashed or could not reach the memory service. */
const LATE_MS = 1_000;
const BATCH = 100;

/** Returns true if the agent stores summaries of this depth as memories. */
export function isDistilled({ config }: Agent, { depth }: Pick<SummaryDocument, 'depth'>): boolean {
  const { enabled, minDepth } = config.contextEngine.memory.distillFromLcd;
  return enabled && depth >= minDepth;
}

export function createDistilling(deps: DistillingDeps): Distilling {
  const { sessions, summaries, agents, store, bus, log } = deps;

  async function forgetNote(tenant: string, id: string): Promise<void> {
    await summaries.for({ tenant }).update({ id, undistilled: { gt: 0 } }, { unset: ['undistilled'] });
  }

  async function notify(tenant: string, session: SessionDocument, summary: SummaryDocument): Promise<void> {
    const agent = agents.find(tenant, session.agentId);
    const client = session.createdBy;
    // A summary without a client cannot be stored as a memory.
    if (agent && client !== undefined && isDistilled(agent, summary)) {
      const { dedupCosineThreshold: unlessAlike } = agent.config.contextEngine.memory.distillFromLcd;
      await bus.as({ tenant, client, scopes: [] }).call('memory.capture', { captured: [getCaptured(agent, summary, unlessAlike)] });
    }
    await forgetNote(tenant, summary.id);
  }

  /** Returns false if the memory service is unavailable, which ends the sweep. */
  async function tellNoted(tenant: string, summary: SummaryDocument): Promise<boolean> {
    try {
      const session = await sessions.for({ tenant }).get(summary.sessionKey);
      if (session && isIn(session, summary)) await notify(tenant, session, summary);
      else await forgetNote(tenant, summary.id);
      return true;
    } catch (err) {
      if (!(err instanceof ServiceError)) throw err;
      if (err.retryable && summary.createdAt > store.now() - DAY_MS) return false;
      log.warn(
        { summary: summary.id, err, errorKind: 'dependency', hint: 'the summary itself is complete' },
        'the memory service rejected a summary',
      );
      await forgetNote(tenant, summary.id);
      return true;
    }
  }

  return {
    tell(tenant, session, summary) {
      notify(tenant, session, summary).catch((err: unknown) => {
        log.info(
          { summary: summary.id, err, errorKind: 'dependency', hint: 'a sweep retries' },
          'failed to send a summary to the memory service',
        );
      });
    },

    async sweep() {
      const before = store.now() - LATE_MS;
      const noted = summaries.system().find({ undistilled: { gt: 0, lte: before } }, { sort: [['undistilled', 'asc']], limit: BATCH });
      for (const { tenant, ...summary } of (await noted).items) if (!(await tellNoted(tenant, summary))) return;
    },
  };
}

/** Returns true if the summary is a root or was merged into one. */
function isIn({ epoch, roots = [] }: SessionDocument, { epoch: of, id, depth, from, to }: SummaryDocument): boolean {
  return epoch === of && roots.some((root) => root.id === id || (root.depth > depth && root.from <= from && root.to >= to));
}

function getCaptured(agent: Agent, summary: SummaryDocument, unlessAlike: number): Params<'memory.capture'>['captured'][number] {
  const { id: turnId, sessionKey, text: content, taint } = summary;
  const isUntrusted = isForeign(sessionKey);
  const about = { turnId, agentId: agent.agentId, sessionKey, ...(isUntrusted && { sourceType: 'web' as const }) };
  return { ...about, content, memoryType: 'semantic', outside: taint || isUntrusted, unlessAlike };
}
