import type { Ctx, Handler } from '@switchyard/bus';
import { ServiceError, type Params, type Principal } from '@switchyard/contracts';
import { pause } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { SummaryDocument } from '../../model/summary-document.ts';
import { requireSession, type Reading } from '../../sessions/session-directory.ts';
import { isBusy, type Emptying } from '../../sessions/session-reset.ts';
import { meantKey } from '../../model/session-key.ts';
import { forgetNotes } from '../../memory/memory-capture.ts';
import { resetting, type ResettingDeps } from './session-reset.ts';

export interface ResetConversationDeps extends ResettingDeps, Pick<Reading, 'turns' | 'clock'> {
  emptying: Emptying;
  summaries: Collection<SummaryDocument>;
}

/** It comes after the turns that were there: so long it waits for them, looking so often. */
const PATIENCE_MS = 20_000;
const LOOK_MS = 50;

/**
 * Clears a conversation from everywhere, and tells counts alone. What is not there, and what the caller may not know of, are alike:
 * nothing of it is cleared. Where the memories cannot be reached the rest is cleared all the same, and it counts none.
 */
export function sessionResetConversation(deps: ResetConversationDeps): Handler<'session.reset_conversation'> {
  return async ({ session_key, memory, purge_derived: purgeDerived }, ctx) => {
    const { principal } = ctx;
    const sessionKey = meantKey(session_key, principal);
    const cleared = await clear(deps, principal, sessionKey);
    if (memory && cleared) await forgetNotes(deps.turns.for(principal), cleared.epoch);
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

/** Undefined when there is no such session. */
async function clear(deps: ResetConversationDeps, principal: Principal, sessionKey: string) {
  const { emptying, clock, turns, summaries } = deps;
  const until = clock.now() + PATIENCE_MS;
  for (;;) {
    try {
      const { key, epoch } = await requireSession(deps.sessions, principal, sessionKey);
      const rows = (await turns.for(principal).count({ epoch, seq: { gt: 0 } })) + (await summaries.for(principal).count({ epoch }));
      const { previousMessageCount } = await emptying(principal, key, resetting(deps, principal));
      return { epoch, counts: { lcdRowsDeleted: rows, sessionMessagesCleared: previousMessageCount } };
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
      if (!isBusy(error) || clock.now() >= until) throw error;
    }
    await pause(clock, LOOK_MS);
  }
}

async function forgetMemories(ctx: Ctx, asked: Params<'memory.forgetSession'>): Promise<number> {
  try {
    return (await ctx.call('memory.forgetSession', asked)).forgotten;
  } catch (err) {
    ctx.log.warn(
      { err, errorKind: 'dependency', hint: 'ask again when the memory service answers' },
      'memories of a conversation were not forgotten',
    );
    return 0;
  }
}
