import { countChars, countExtraChars, countMessages } from '../../model/turn-messages.ts';
import type { TurnDocument } from '../../model/turn-document.ts';
import type { SessionLease } from '../../queue/session-lease.ts';
import type { TurnTotals } from '../../queue/session-queue.ts';

/**
 * Returns the totals of a turn. The guard of the write decides whether it was counted before; after a miss the reloaded session decides.
 */
export function getTotals(turn: TurnDocument | undefined, found: SessionLease | undefined): TurnTotals | undefined {
  if (turn?.state !== 'done' || turn.seq === undefined || turn.epoch === undefined) return undefined;
  const { seq, epoch, stepCount = 0, tokensUsed, costUsd = 0 } = turn;
  if (found && (epoch !== found.session.epoch || seq <= found.session.lastSeq)) return undefined;
  return {
    seq,
    epoch,
    messages: countMessages(turn),
    chars: countChars(turn),
    extraChars: countExtraChars(turn),
    steps: stepCount,
    input: tokensUsed?.input ?? 0,
    output: tokensUsed?.output ?? 0,
    costUsd,
  };
}
