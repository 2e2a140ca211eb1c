import { AGENTS_BUCKET, AgentConfig, AgentProjection, ServiceError } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { watchBucket } from '@switchyard/service-kit';
import type { z } from 'zod';

/** An agent as a turn needs it. */
export interface Agent {
  agentId: string;
  suspended: boolean;
  isDefault: boolean;
  config: z.output<typeof AgentConfig>;
}

/** The agents the registry projects, always current. */
export interface AgentDirectory extends AsyncDisposable {
  find(tenant: string, agentId: string): Agent | undefined;
  /** The one that answers when nobody is named. UNAVAILABLE while the registry has not spoken yet. */
  default(tenant: string): Agent;
  all(tenant: string): AgentProjection[];
}

export async function openAgentDirectory(bus: Bus): Promise<AgentDirectory> {
  const projections = await watchBucket(bus, AGENTS_BUCKET, AgentProjection);
  const parsed = new WeakMap<AgentProjection, Agent>();

  const toAgent = (projection: AgentProjection): Agent => {
    const known = parsed.get(projection);
    if (known) return known;
    const { agentId, suspended, isDefault } = projection;
    const agent = { agentId, suspended, isDefault, config: AgentConfig.parse(projection.config) };
    parsed.set(projection, agent);
    return agent;
  };
  const all = (tenant: string): AgentProjection[] => [...projections.entries.values()].filter((projection) => projection.tenant === tenant);

  return {
    find(tenant, agentId) {
      const projection = projections.entries.get(`${tenant}.${agentId}`);
      return projection && toAgent(projection);
    },
    default(tenant) {
      const projection = all(tenant).find((candidate) => candidate.isDefault);
      if (!projection)
        throw new ServiceError('UNAVAILABLE', 'The registry service has not published its agents yet; try again in a moment.');
      return toAgent(projection);
    },
    all,
    [Symbol.asyncDispose]: () => projections[Symbol.asyncDispose](),
  };
}
