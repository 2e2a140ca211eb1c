import { AGENTS_BUCKET, AgentConfig, AgentProjection, bucketKey, canUseAgent, ServiceError } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Logger } from '@switchyard/telemetry';
import type { z } from 'zod';
import { resolveReferences } from '../settings/references.ts';
import type { Variables } from '../variables/secret-variables.ts';
import { watchBucket } from './watched-bucket.ts';

/** An agent with its complete configuration, with variables in place of `${NAME}`. The same object until the agent changes. */
function agentSchema(env: Variables) {
  // The name is visible to clients, so no variables are resolved in it.
  const resolveConfig = (written: Record<string, unknown>): Record<string, unknown> => ({
    ...resolveReferences(written, env),
    name: written['name'],
  });
  const config = AgentProjection.shape.config.transform(resolveConfig).pipe(AgentConfig);
  return AgentProjection.extend({ config });
}
export type Agent = z.output<ReturnType<typeof agentSchema>>;

/** Agents published by the registry, always current. */
export interface AgentDirectory extends AsyncDisposable {
  find(tenant: string, agentId: string): Agent | undefined;
  /** Returns the default agent. Throws UNAVAILABLE until the registry has published agents. */
  default(tenant: string): Agent;
  /** Agents of all tenants. */
  listAllTenants(): Iterable<Agent>;
  /** Returns whether more than one tenant has agents. */
  hasSeveralTenants(): boolean;
  /** With `held`, only the agents listed there. The same array until an agent changes. */
  all(tenant: string, held?: readonly string[]): readonly Agent[];
  /** Calls the listener after each change of an agent. Returns a function that unsubscribes it. */
  onChange(listener: () => void): () => void;
}

export async function openAgentDirectory(bus: Bus, env: Variables, log: Logger): Promise<AgentDirectory> {
  const projections = await watchBucket(bus, AGENTS_BUCKET, agentSchema(env), log);
  const byTenant = new Map<string, readonly Agent[]>();
  let severalTenants: boolean | undefined;
  projections.onChange(() => {
    byTenant.clear();
    severalTenants = undefined;
  });

  function all(tenant: string, held?: readonly string[]): readonly Agent[] {
    const list = held === undefined ? tenant : JSON.stringify([tenant, ...held]);
    let agents = byTenant.get(list);
    if (!agents) {
      agents = [...projections.entries.values()].filter((agent) => agent.tenant === tenant && canUseAgent({ agents: held }, agent.agentId));
      byTenant.set(list, agents);
    }
    return agents;
  }

  return {
    find: (tenant, agentId) => projections.entries.get(bucketKey(tenant, agentId)),
    default(tenant) {
      const agent = all(tenant).find((candidate) => candidate.isDefault);
      if (!agent) throw new ServiceError('UNAVAILABLE', 'The registry has not published agents yet. Retry in a moment.');
      return agent;
    },
    all,
    listAllTenants: () => projections.entries.values(),
    hasSeveralTenants: () => (severalTenants ??= new Set(projections.entries.values().map(({ tenant }) => tenant)).size > 1),
    onChange: (listener) => projections.onChange(() => listener()),
    [Symbol.asyncDispose]: () => projections[Symbol.asyncDispose](),
  };
}
