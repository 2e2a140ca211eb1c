import type { Ctx } from '@switchyard/bus';
import { visibleNames, type Models } from '@switchyard/models';
import type { ConfigurationSource } from '@switchyard/service-kit';
import type { Agents } from '../agents/agents.ts';
import { listUsableAgents } from '../agents/usable-agents.ts';

export interface TenantCatalogueDeps {
  agents: Agents;
  models: Models;
  configuration: Pick<ConfigurationSource, 'current'>;
}

/** The catalogue for tokens of the installation tenant. Other tenants see the models that their agents may use. */
export async function listCatalogue(
  { agents, models, configuration }: TenantCatalogueDeps,
  { principal }: Pick<Ctx, 'principal'>,
  provider?: string,
): ReturnType<Models['catalogue']> {
  const catalogue = await models.catalogue(provider);
  if (principal.tenant === configuration.current.tenantId) return catalogue;
  const names = await visibleNames(models, await listUsableAgents(agents, principal));
  const own = new Set(names.map(({ id }) => id));
  return catalogue.filter((entry) => own.has(`${entry.provider}/${entry.modelId}`));
}
