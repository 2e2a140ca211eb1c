import { AGENTS_BUCKET, AgentConfig, AgentProjection, ServiceError } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { watchBucket } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import type { z } from 'zod';

/** An agent as a turn needs it: with its whole configuration. One object for as long as nothing about it changes. */
const Agent = AgentProjection.extend({ config: AgentConfig });
export type Agent = z.output<typeof Agent>;

/** The agents the registry projects, always current. */
export interface AgentDirectory extends AsyncDisposable {
  find(tenant: string, agentId: string): Agent | undefined;
  /** The one that answers when nobody is named. UNAVAILABLE while the registry has not spoken yet. */
  default(tenant: string): Agent;
  all(tenant: string): readonly Agent[];
}

export async function openAgentDirectory(bus: Bus, log: Logger): Promise<AgentDirectory> {
  const projections = await watchBucket(bus, AGENTS_BUCKET, Agent, log);
  const byTenant = new Map<string, readonly Agent[]>();
  projections.onChange(() => byTenant.clear());

  function all(tenant: string): readonly Agent[] {
    let agents = byTenant.get(tenant);
    if (!agents) {
      agents = [...projections.entries.values()].filter((agent) => agent.tenant === tenant);
      byTenant.set(tenant, agents);
    }
    return agents;
  }

  return {
    find: (tenant, agentId) => projections.entries.get(`${tenant}.${agentId}`),
    default(tenant) {
      const agent = all(tenant).find((candidate) => candidate.isDefault);
      if (!agent) throw new ServiceError('UNAVAILABLE', 'The registry service has not published its agents yet; try again in a moment.');
      return agent;
    },
    all,
    [Symbol.asyncDispose]: () => projections[Symbol.asyncDispose](),
  };
}
