import type { Handler } from '@switchyard/bus';
import { wakeAgent } from '../wake/wake-agents.ts';
import { findAgent, type HeartbeatDeps } from './heartbeat-deps.ts';

/** Requests a beat, also of an agent without scheduled ones. */
export function heartbeatTrigger({ agents, beatWork, now }: HeartbeatDeps): Handler<'heartbeat.trigger'> {
  return async ({ agentId }, { principal }) => {
    findAgent(agents, principal, agentId);
    await wakeAgent({ beatWork, now }, { tenant: principal.tenant, agentId, reason: 'manual' });
    beatWork.startDue();
    return { agentId, triggered: true };
  };
}
