import { isDeepStrictEqual } from 'node:util';
import { AgentConfig, type ServiceError } from '@switchyard/contracts';
import { isTree, merge, resolveReferences, valueAt, type Tree } from '@switchyard/service-kit';
import type { ProposedConfiguration } from '../config/write-config.ts';
import type { Agents } from './agents.ts';
import { checkAnswers, type CheckPatchDeps } from './check-patch.ts';

interface CheckConfigAgentsDeps extends CheckPatchDeps {
  agents: Pick<Agents, 'find'>;
}

/** Checks the agents that a configuration write changes in the same way as `agents.update`. */
export async function checkConfigAgents(
  deps: CheckConfigAgentsDeps,
  { before, after, agents }: ProposedConfiguration,
): Promise<ServiceError[]> {
  const [agentsBefore, agentsAfter] = [valueAt(before, ['agents']), valueAt(after, ['agents'])];
  const errors: ServiceError[] = [];
  for (const [agentId, change] of Object.entries(isTree(agentsAfter) ? agentsAfter : {})) {
    const previous = isTree(agentsBefore) ? agentsBefore[agentId] : undefined;
    const patch = newKeys(isTree(previous) ? previous : {}, change);
    if (Object.keys(patch).length === 0) continue;
    const { tenantId } = deps.configuration.current;
    const stored = (await deps.agents.find(tenantId, agentId))?.stored?.patch ?? {};
    const resolved = AgentConfig.safeParse(resolveReferences(merge(agents[agentId] ?? {}, stored), deps.env));
    // A combination with the stored layer that is invalid was already reported by the check of the configuration.
    if (resolved.success) errors.push(...(await checkAnswers(deps, patch, resolved.data)));
  }
  return errors;
}

function newKeys(before: Tree, after: unknown): Tree {
  if (!isTree(after)) return {};
  return Object.fromEntries(Object.entries(after).filter(([key, value]) => !isDeepStrictEqual(value, before[key])));
}
