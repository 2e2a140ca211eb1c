import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { Compaction } from '../../context/compaction/compaction.ts';
import { getLength } from '../../context/conversation-size.ts';
import { requireSession } from '../../sessions/session-directory.ts';
import { waitUntilSettled, type SettlingDeps } from '../../sessions/session-settling.ts';

/** Summarizes all but the last turns. Turns continue meanwhile. Rejects the request while another replica compacts the session. */
export function sessionCompact({
  compaction,
  store,
  ...settling
}: SettlingDeps & { compaction: Compaction; store: { now(): number } }): Handler<'session.compact'> {
  return async ({ key }, { principal, signal }) => {
    const seen = await requireSession(settling.sessions, principal, key);
    const session = (await waitUntilSettled(settling, principal.tenant, seen)) ?? seen;
    if ((session.compactUntil ?? 0) > store.now()) throw atIt();
    const before = getLength(session);
    const { session: after, made } = await compaction.compact(principal.tenant, session, { signal });
    const { messages, tokens } = getLength(after);
    return {
      sessionKey: session.key,
      messageCount: session.messageCount,
      estimatedTokens: before.tokens,
      compactionTriggered: made > 0,
      instructions: null,
      messagesAfter: messages,
      tokensAfter: tokens,
    };
  };
}

function atIt(): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', 'This conversation is being summarized. Retry when the summary is complete.', {
    details: { reason: 'COMPACTING', retryable: true, retryAfterMs: 2_000 },
  });
}
