import { isDeepStrictEqual } from 'node:util';
import { AgentConfig, type ServiceError } from '@switchyard/contracts';
import { isTree, merge, resolveReferences, valueAt, type Tree } from '@switchyard/service-kit';
import type { ProposedConfiguration } from '../config/write-config.ts';
import type { Agents } from './agents.ts';
import { checkAnswers, type PatchGiven } from './check-patch.ts';

interface Given extends PatchGiven {
  agents: Pick<Agents, 'find'>;
}

/** Checks the agents that a configuration write changes in the same way as `agents.update`. */
export async function checkConfigured(given: Given, { before, after, agents }: ProposedConfiguration): Promise<ServiceError[]> {
  const [was, will] = [valueAt(before, ['agents']), valueAt(after, ['agents'])];
  const errors: ServiceError[] = [];
  for (const [agentId, change] of Object.entries(isTree(will) ? will : {})) {
    const earlier = isTree(was) ? was[agentId] : undefined;
    const patch = newKeys(isTree(earlier) ? earlier : {}, change);
    if (Object.keys(patch).length === 0) continue;
    const { tenantId } = given.configuration.current;
    const stored = (await given.agents.find(tenantId, agentId))?.stored?.patch ?? {};
    const meant = AgentConfig.safeParse(resolveReferences(merge(agents[agentId] ?? {}, stored), given.env));
    // A combination with the stored layer that is invalid was already reported by the check of the configuration.
    if (meant.success) errors.push(...(await checkAnswers(given, patch, meant.data)));
  }
  return errors;
}

function newKeys(before: Tree, after: unknown): Tree {
  if (!isTree(after)) return {};
  return Object.fromEntries(Object.entries(after).filter(([key, value]) => !isDeepStrictEqual(value, before[key])));
}
