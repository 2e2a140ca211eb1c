import { DAY_MS } from '../../model/retention.ts';
import { clearEndedEpoch, freeStorage, newEpochChange } from '../../sessions/session-reset.ts';
import { sessionKeyObject } from '../../sessions/new-session.ts';
import { getExpiry } from '../../sessions/reset-policy.ts';
import { parseSessionKey } from '../../model/session-key.ts';
import { leaseLostError, reloadSession } from '../../queue/session-lease.ts';
import type { TurnRunDeps, TurnRun } from './turn-run.ts';

/**
 * Resets an expired session when a turn starts. The reset is one write under the session lease and guarded by the epoch, so it happens
 * once and in queue order. A crash before the write leaves a record without effect; a crash after it leaves turns of the old epoch, which
 * a sweep clears.
 */
export async function resetIfExpired(deps: TurnRunDeps, { lease, turn, agent, resumeFrom }: TurnRun): Promise<void> {
  const policy = agent.config.session.resetPolicy;
  // A turn that has made steps continues in the same conversation.
  while (policy && resumeFrom.steps === 0) {
    const before = lease.session;
    const { key, fence, epoch, lastSeq, userId, channelId } = before;
    const reason = getExpiry(policy, lease.session, turn.createdAt);
    if (reason === undefined) return;
    const note = { epoch, sessionKey: key, at: deps.store.now() };
    await lease.retryWrite(() => deps.gone.for(lease).replace(note));
    const identity = parseSessionKey(key) ?? { tenant: lease.tenant, userId, channelId };
    const expired = { name: 'session:expired', payload: { sessionKey: sessionKeyObject(identity), reason } };
    const guard = { key, fence, epoch, lastSeq };
    const session = await lease.retryWrite(() => deps.sessions.for(lease).update(guard, newEpochChange(deps.store.now(), [expired])));
    if (session) {
      lease.session = session;
      freeStorage(deps, lease.tenant, before);
      // Runs in the background; a sweep repeats it after a failure.
      clearEndedEpoch({ ...deps, forgetAt: deps.store.now() + DAY_MS }, lease.tenant, note).catch(() => undefined);
      return;
    }
    // The write was applied before and only its reply was lost, or the lease was taken over.
    if (!(await reloadSession(deps.sessions, lease))) throw leaseLostError();
  }
}

/** Returns whether a message is one of the reset phrases of its agent. */
export function isResetTrigger({ agent }: Pick<TurnRun, 'agent'>, message: string): boolean {
  const triggers = agent.config.session.resetPolicy?.resetTriggers ?? [];
  const content = message.trim().toLowerCase();
  return triggers.some((phrase) => phrase.trim() !== '' && phrase.trim().toLowerCase() === content);
}
