import type { Ctx, Handler } from '@switchyard/bus';
import { CONFIG_WRITERS, covers, ServiceError } from '@switchyard/contracts';
import { getTree, merge } from '@switchyard/service-kit';
import { removeStored } from '../../config/remove-stored.ts';
import type { CurrentConfiguration } from '../../config/stored-layer.ts';
import { requireOperator, writeConfig, type ConfigDeps, type Plan } from '../../config/write-config.ts';
import { updateAgent, type UpdateAgentDeps } from '../agents/agents-update.ts';
import { planPatch } from './config-patch.ts';

interface Write {
  names: readonly string[];
  value: unknown;
}

/** Persists what a method of another service changes. A path in an agent is written to the agent, all others to the configuration. */
export function configWrite(config: ConfigDeps, agents: UpdateAgentDeps): Handler<'config.write'> {
  return async ({ as: method, path, value }, ctx) => {
    const names = path.split('.');
    const { paths } = CONFIG_WRITERS[method];
    if (!paths.some((pattern) => covers(pattern, names)))
      throw new ServiceError('PERMISSION_DENIED', `${method} may write ${paths.join(', ')} but not ${path}.`, {
        details: { reason: 'PATH_NOT_DECLARED' },
      });
    if (names[0] === 'agents') {
      await writeAgent(agents, ctx, { names, value });
      return { written: true };
    }
    requireOperator(ctx, config.configuration);
    const plan = (current: CurrentConfiguration): Plan => ({ ...planPatch(config, current, getTree(names, value)), opened: paths });
    const { version } = await writeConfig(config, { ctx, options: {}, title: `${method} ${path}`, plan });
    return { written: true, commitSha: version.sha };
  };
}

async function writeAgent(
  deps: UpdateAgentDeps,
  ctx: Pick<Ctx, 'principal' | 'log'>,
  { names: [, agentId = '', ...keys], value }: Write,
): Promise<void> {
  const change = getTree(keys, value);
  await updateAgent(deps, ctx, {
    agentId,
    change,
    apply: (stored) => (value === null ? removeStored(stored, [keys]) : merge(stored, change)),
  });
}
