import type { Bus } from '@switchyard/bus';
import { canUseAgent, ServiceError, type Principal } from '@switchyard/contracts';
import type { Agent, AgentDirectory, Settings } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Work } from '@switchyard/work';
import type { BeatDocument, EventDocument } from '../heartbeat/beat-document.ts';

export interface HeartbeatDeps {
  beats: Collection<BeatDocument>;
  events: Collection<EventDocument>;
  beatWork: Work<BeatDocument>;
  agents: AgentDirectory;
  settings: Settings<'scheduler'>;
  bus: Bus;
  now: () => number;
}

/** Returns the agent. An agent that the caller may not use is reported like one that does not exist. */
export function findAgent(agents: AgentDirectory, principal: Principal, agentId: string): Agent {
  const agent = canUseAgent(principal, agentId) ? agents.find(principal.tenant, agentId) : undefined;
  if (agent) return agent;
  throw new ServiceError('NOT_FOUND', `The agent ${agentId} does not exist. agents.list returns all agents.`);
}
