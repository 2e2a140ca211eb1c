import type { Handler } from '@switchyard/bus';
import type { SubAgents } from '../../subagents/subagents.ts';

export function subagentList(subAgents: Pick<SubAgents, 'list'>): Handler<'subagent.list'> {
  return ({ recentMinutes }, { principal }) => subAgents.list(principal, recentMinutes);
}

/** Ends a run and all runs below it. */
export function subagentKill(subAgents: Pick<SubAgents, 'kill'>): Handler<'subagent.kill'> {
  return async ({ target }, { principal }) => {
    await subAgents.kill(principal, target);
    return { killed: true, runId: target };
  };
}

/** Adds a user message to the conversation of a run. */
export function subagentSteer(subAgents: Pick<SubAgents, 'steer'>): Handler<'subagent.steer'> {
  return async ({ target, message }, { principal }) => {
    await subAgents.steer(principal, target, message);
    return { steered: true, runId: target };
  };
}
