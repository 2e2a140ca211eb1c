import type { Ctx, Handler } from '@switchyard/bus';
import { ServiceError, type Params, type Principal } from '@switchyard/contracts';
import { pause } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { SummaryDocument } from '../../model/summary-document.ts';
import { requireSession, type HistoryDeps } from '../../sessions/session-directory.ts';
import { isSessionBusy, type ResetSession } from '../../sessions/session-reset.ts';
import { resolveSessionKey } from '../../model/session-key.ts';
import { clearPendingOfEpoch } from '../../memory/memory-capture.ts';
import { resetting, type ResettingDeps } from './session-reset.ts';

export interface ResetConversationDeps extends ResettingDeps, Pick<HistoryDeps, 'turns' | 'clock'> {
  emptying: ResetSession;
  summaries: Collection<SummaryDocument>;
}

/** Maximum wait for earlier turns to end, and the poll interval. */
const PATIENCE_MS = 20_000;
const POLL_INTERVAL_MS = 50;

/**
 * Clears a conversation in all stores and returns only counts. The counts are 0 for a missing conversation and for one that the caller
 * cannot see. If the memory service is unavailable the rest is cleared and `memoriesDeleted` is 0.
 */
export function sessionResetConversation(deps: ResetConversationDeps): Handler<'session.reset_conversation'> {
  return async ({ session_key, memory, purge_derived: purgeDerived }, ctx) => {
    const { principal } = ctx;
    const sessionKey = resolveSessionKey(session_key, principal);
    const cleared = await clear(deps, principal, sessionKey);
    if (memory && cleared) await clearPendingOfEpoch(deps.turns.for(principal), cleared.epoch);
    const counts = cleared?.counts ?? { lcdRowsDeleted: 0, sessionMessagesCleared: 0 };
    const memories = memory && (cleared || principal.sessions !== 'own') ? await forgetMemories(ctx, { sessionKey, purgeDerived }) : 0;
    return {
      sessionKey,
      ...counts,
      ...(memory ? { memoriesDeleted: memories } : {}),
      ...(cleared ? { runtimeSessionDestroyed: true } : {}),
    };
  };
}

/** Returns undefined if the session does not exist. */
async function clear(deps: ResetConversationDeps, principal: Principal, sessionKey: string) {
  const { emptying, clock, turns, summaries } = deps;
  const deadline = clock.now() + PATIENCE_MS;
  for (;;) {
    try {
      const { key, epoch } = await requireSession(deps.sessions, principal, sessionKey);
      const rows = (await turns.for(principal).count({ epoch, seq: { gt: 0 } })) + (await summaries.for(principal).count({ epoch }));
      const { previousMessageCount } = await emptying(principal, key, resetting(deps, principal));
      return { epoch, counts: { lcdRowsDeleted: rows, sessionMessagesCleared: previousMessageCount } };
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
      if (!isSessionBusy(error) || clock.now() >= deadline) throw error;
    }
    await pause(clock, POLL_INTERVAL_MS);
  }
}

async function forgetMemories(ctx: Ctx, request: Params<'memory.forgetSession'>): Promise<number> {
  try {
    return (await ctx.call('memory.forgetSession', request)).forgotten;
  } catch (err) {
    ctx.log.warn(
      { err, errorKind: 'dependency', hint: 'retry when the memory service is available' },
      'failed to delete the memories of a conversation',
    );
    return 0;
  }
}
