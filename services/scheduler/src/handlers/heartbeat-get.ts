import type { Handler } from '@switchyard/bus';
import { getHeartbeatSettings } from '../heartbeat/heartbeat-settings.ts';
import { findAgent, type HeartbeatDeps } from './heartbeat-deps.ts';

export function heartbeatGet({ agents, settings }: HeartbeatDeps): Handler<'heartbeat.get'> {
  return ({ agentId }, { principal }) => {
    const agent = findAgent(agents, principal, agentId);
    const effective = getHeartbeatSettings(agent, settings.current.scheduler.heartbeat);
    return { agentId, perAgent: { ...agent.config.scheduler.heartbeat }, effective: { ...effective } };
  };
}
