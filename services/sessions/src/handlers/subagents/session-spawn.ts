import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { SubAgents } from '../../subagents/subagents.ts';

/** Starts a sub-agent run for a session. */
export function sessionSpawn(subAgents: Pick<SubAgents, 'spawn'>): Handler<'session.spawn'> {
  return ({ parentKey, task, agentId }, { principal, key }) => subAgents.spawn(principal, { parentKey, task, agentId, key });
}

/** Starts a sub-agent run for the session of the calling turn. A repeated call returns the same run. */
export function runsSpawn(subAgents: Pick<SubAgents, 'spawn'>): Handler<'runs.spawn'> {
  return ({ task, agentId, objective }, { principal, key }) => {
    const { session, agent } = principal;
    if (session === undefined) throw new ServiceError('FAILED_PRECONDITION', 'A sub-agent is started by a turn of a session only.');
    return subAgents.spawn(principal, { parentKey: session, task, objective, agentId: agentId ?? agent, key });
  };
}
