import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { getIntervalMs } from '../heartbeat/heartbeat-settings.ts';
import { addEvent, wakeAgent } from '../wake/wake-agents.ts';
import type { HeartbeatDeps } from './heartbeat-deps.ts';

/** Stores an event for the named agent, or for every agent with scheduled beats, and requests their beats unless they wait for the next. */
export function heartbeatsWake({ agents, beatWork, events, settings, now }: HeartbeatDeps): Handler<'heartbeats.wake'> {
  return async ({ agentId, source, text, mode, idempotencyKey: key }, { principal: { tenant } }) => {
    const woken = agents
      .all(tenant)
      .filter((agent) =>
        agentId === undefined ? getIntervalMs(agent, settings.current.scheduler.heartbeat) > 0 : agent.agentId === agentId,
      );
    if (woken.length === 0) throw noHeartbeat(agentId);
    let repeated = true;
    for (const agent of woken) {
      const isNew = await addEvent({ events, now }, { tenant, agentId: agent.agentId, key, source, text });
      if (isNew) repeated = false;
      // A repeated delivery wakes again, because the first one may have failed after the event was stored.
      if (mode === 'now') await wakeAgent({ beatWork, now }, { tenant, agentId: agent.agentId, reason: 'hook' });
    }
    beatWork.startDue();
    return { agents: woken.length, repeated };
  };
}

function noHeartbeat(agentId: string | undefined): ServiceError {
  const text = agentId === undefined ? 'No agent has a heartbeat. Enable scheduler.heartbeat.' : `The agent ${agentId} does not exist.`;
  return new ServiceError('FAILED_PRECONDITION', text);
}
