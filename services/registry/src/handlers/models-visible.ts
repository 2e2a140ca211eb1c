import type { Handler } from '@switchyard/bus';
import { visibleNames, type Models } from '@switchyard/models';
import type { Agents } from '../agents/agents.ts';

export function modelsVisible(agents: Agents, models: Models): Handler<'models.visible'> {
  return async (_, ctx) => {
    const names = await visibleNames(models, await agents.list(ctx.principal.tenant));
    return { models: names.map(({ id, ownedBy }) => ({ id, ownedBy })) };
  };
}
