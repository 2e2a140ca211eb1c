import { DAY_MS } from '../../model/retention.ts';
import { clearGone, emptied } from '../../sessions/session-reset.ts';
import { sessionKeyObject } from '../../sessions/new-session.ts';
import { expiryOf } from '../../sessions/reset-policy.ts';
import { parseSessionKey } from '../../model/session-key.ts';
import { leaseLost, lookAgain } from '../../queue/session-lease.ts';
import type { RunDeps, RunGiven } from './turn-run.ts';

/**
 * Empties the session of a turn that begins, where its conversation was over when the turn was accepted. That is one write under the
 * lease of the session, guarded by its epoch: it happens in the order of the queue, and once, whoever takes the turn over. Who dies
 * before it leaves a note that leads to nothing, and after it the turns of an epoch that is over, as `session.reset` does.
 */
export async function startAnew(deps: RunDeps, { hold, turn, agent, from }: RunGiven): Promise<void> {
  const policy = agent.config.session.resetPolicy;
  // A turn that has made steps goes on where it was.
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
      // Nobody waits for it; where it fails a sweep does it.
      clearGone({ ...deps, forgetAt: deps.store.now() + DAY_MS }, hold.tenant, note).catch(() => undefined);
      return;
    }
    // Written before, and only its answer was lost; or the lease is somebody else's.
    if (!(await lookAgain(deps.sessions, hold))) throw leaseLost();
  }
}

/** Whether a message is one of the phrases with which its agent's sessions start anew. */
export function isTrigger({ agent }: Pick<RunGiven, 'agent'>, message: string): boolean {
  const triggers = agent.config.session.resetPolicy?.resetTriggers ?? [];
  const said = message.trim().toLowerCase();
  return triggers.some((phrase) => phrase.trim() !== '' && phrase.trim().toLowerCase() === said);
}
