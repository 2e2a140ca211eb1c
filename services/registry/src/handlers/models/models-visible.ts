import type { Handler } from '@switchyard/bus';
import { visibleNames, type Models } from '@switchyard/models';
import type { Agents } from '../../agents/agents.ts';
import { listUsableAgents } from '../../agents/usable-agents.ts';

export function modelsVisible(agents: Agents, models: Models): Handler<'models.visible'> {
  return async (_, ctx) => {
    const names = await visibleNames(models, await listUsableAgents(agents, ctx.principal));
    return { models: names.map(({ id, ownedBy }) => ({ id, ownedBy })) };
  };
}
