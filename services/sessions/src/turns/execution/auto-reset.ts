import { DAY_MS } from '../../model/retention.ts';
import { clearGone, emptied } from '../../sessions/session-reset.ts';
import { sessionKeyObject } from '../../sessions/new-session.ts';
import { expiryOf } from '../../sessions/reset-policy.ts';
import { parseSessionKey } from '../../model/session-key.ts';
import { leaseLost, lookAgain } from '../../queue/session-lease.ts';
import type { RunDeps, RunGiven } from './turn-run.ts';

/**
 * Resets an expired session when a turn starts. The reset is one write under the session lease and guarded by the epoch, so it happens
 * once and in queue order. A crash before the write leaves a record without effect; a crash after it leaves turns of the old epoch, which
 * a sweep clears.
 */
export async function startAnew(deps: RunDeps, { hold, turn, agent, from }: RunGiven): Promise<void> {
  const policy = agent.config.session.resetPolicy;
  // A turn that has made steps continues in the same conversation.
  while (policy && from.steps === 0) {
    const { key, fence, epoch, lastSeq, userId, channelId } = hold.session;
    const reason = expiryOf(policy, hold.session, turn.createdAt);
    if (reason === undefined) return;
    const note = { epoch, sessionKey: key, at: deps.store.now() };
    await hold.persist(() => deps.gone.for(hold).replace(note));
    const identity = parseSessionKey(key) ?? { tenant: hold.tenant, userId, channelId };
    const expired = { name: 'session:expired', payload: { sessionKey: sessionKeyObject(identity), reason } };
    const guard = { key, fence, epoch, lastSeq };
    const session = await hold.persist(() => deps.sessions.for(hold).update(guard, emptied(deps.store.now(), [expired])));
    if (session) {
      hold.session = session;
      // Runs in the background; a sweep repeats it after a failure.
      clearGone({ ...deps, forgetAt: deps.store.now() + DAY_MS }, hold.tenant, note).catch(() => undefined);
      return;
    }
    // The write was applied before and only its reply was lost, or the lease was taken over.
    if (!(await lookAgain(deps.sessions, hold))) throw leaseLost();
  }
}

/** Returns whether a message is one of the reset phrases of its agent. */
export function isTrigger({ agent }: Pick<RunGiven, 'agent'>, message: string): boolean {
  const triggers = agent.config.session.resetPolicy?.resetTriggers ?? [];
  const said = message.trim().toLowerCase();
  return triggers.some((phrase) => phrase.trim() !== '' && phrase.trim().toLowerCase() === said);
}
