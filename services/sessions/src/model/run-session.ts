import type { SessionIdentity } from './session-key.ts';

/** Returns the session in which a run of a sub-agent works. It names the agent, so that it stays the same when the default agent changes. */
export function getRunSession(tenant: string, agentId: string, runId: string): SessionIdentity {
  return { tenant, agentId, userId: `sub-agent-${runId}`, channelId: `sub-agent:${runId}` };
}

/** Returns whether a session is that of a run. */
export function isRunSession({ userId, channelId }: Pick<SessionIdentity, 'userId' | 'channelId'>): boolean {
  return userId.startsWith('sub-agent-') && channelId === `sub-agent:${userId.slice('sub-agent-'.length)}`;
}
