import type { Handler } from '@switchyard/bus';
import { getIntervalMs } from '../heartbeat/heartbeat-settings.ts';
import { wakeAgent } from '../wake/wake-agents.ts';
import type { HeartbeatDeps } from './heartbeat-deps.ts';

/** Requests a beat of every agent that has scheduled ones and that the caller may use. */
export function schedulerWake({ agents, beatWork, settings, now }: HeartbeatDeps): Handler<'scheduler.wake'> {
  return async ({ source }, { principal: { tenant, agents: held } }) => {
    for (const agent of agents.all(tenant, held)) {
      if (getIntervalMs(agent, settings.current.scheduler.heartbeat) === 0) continue;
      await wakeAgent({ beatWork, now }, { tenant, agentId: agent.agentId, reason: 'wake' });
    }
    beatWork.startDue();
    return { woke: true, source };
  };
}
