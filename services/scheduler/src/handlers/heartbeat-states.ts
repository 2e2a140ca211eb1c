import type { Handler } from '@switchyard/bus';
import type { BeatDocument } from '../heartbeat/beat-document.ts';
import { toHeartbeatState } from '../heartbeat/beat-state.ts';
import { getHeartbeatSettings } from '../heartbeat/heartbeat-settings.ts';
import type { HeartbeatDeps } from './heartbeat-deps.ts';

export function heartbeatStates({ agents, beats, settings }: HeartbeatDeps): Handler<'heartbeat.states'> {
  return async (_params, { principal }) => {
    const byAgent = new Map<string, BeatDocument>();
    let cursor: string | undefined;
    do {
      const page = await beats.for(principal).find({}, { limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
      for (const beat of page.items) byAgent.set(beat.agentId, beat);
      cursor = page.cursor;
    } while (cursor !== undefined);
    const general = settings.current.scheduler.heartbeat;
    const states = agents
      .all(principal.tenant, principal.agents)
      .map((agent) => toHeartbeatState(agent.agentId, byAgent.get(agent.agentId), getHeartbeatSettings(agent, general)));
    return { agents: states.toSorted((left, right) => left.agentId.localeCompare(right.agentId)) };
  };
}
