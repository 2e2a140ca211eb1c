import type { CallResult } from '@switchyard/client';
import type { CommandContext } from '../../arguments/command-group.ts';
import { columns, print, printAs, remark, rows, table } from '../../output/output.ts';
import { isObject } from '../../output/json-values.ts';
import { self } from '../../server/installation.ts';
import { getLeaves, formatSetting } from '../../output/settings-table.ts';

type Agent = CallResult<'agents.get'>;

/** Number of concurrent agents.get calls. */
const AT_ONCE = 16;

export async function listAgents({ call, output }: CommandContext): Promise<void> {
  const { agents: ids } = await call('agents.list', {});
  const agents: Agent[] = [];
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    agents.push(...(await Promise.all(ids.slice(from, from + AT_ONCE).map((agentId) => call('agents.get', { agentId })))));
  }
  if (output !== 'table') return printAs(output, { agents });
  const lines = agents.map(({ agentId, config, suspended, isDefault }) => [
    agentId,
    [suspended ? 'suspended' : 'active', ...(isDefault ? ['default'] : [])].join(', '),
    text(config['provider']),
    text(config['model']),
    text(config['maxSteps']),
    text(config['name']),
  ]);
  print(table(['AGENT', 'STATE', 'PROVIDER', 'MODEL', 'STEPS', 'NAME'], lines));
}

export async function showAgent({ call, flags, output }: CommandContext, agentId: string): Promise<void> {
  const agent = await call('agents.get', { agentId });
  if (output !== 'table') return printAs(output, agent);
  const { config, suspended, isDefault, workspaceDir } = agent;
  print(
    rows([
      ['agent', agentId],
      ['state', `${suspended ? 'suspended' : 'active'}${isDefault ? ', the default agent' : ''}`],
      ...(workspaceDir === undefined ? [] : [['workspace', workspaceDir] as [string, string]]),
    ]),
  );
  const leaves = [...getLeaves(flags['all'] === undefined ? changed(config, await defaults()) : config)];
  print(`\n${columns(leaves.map(([path, value]) => [path, formatSetting(value)]))}`);
  if (flags['all'] === undefined) remark(`All other settings have their defaults: ${self()} agents show ${agentId} --all`);
}

/** Loads the contracts on demand, because loading takes a third of a second. */
async function defaults(): Promise<Record<string, unknown>> {
  const { AgentConfig } = await import('@switchyard/contracts');
  return AgentConfig.parse({});
}

/** Returns the settings that differ from the defaults, at any depth. */
function changed(config: Record<string, unknown>, from: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(config).flatMap(([key, value]) => {
      const before = from[key];
      if (isObject(value) && isObject(before)) {
        const inner = changed(value, before);
        return Object.keys(inner).length === 0 ? [] : [[key, inner]];
      }
      return JSON.stringify(value) === JSON.stringify(before) ? [] : [[key, value]];
    }),
  );
}

export async function showOperations({ call, output }: CommandContext, agentId: string): Promise<void> {
  const answer = await call('agent.getOperationModels', { agentId });
  if (output !== 'table') return printAs(output, answer);
  const lines = answer.operations.map(({ operationType, provider, model, source, timeoutMs, apiKeyConfigured }) => [
    operationType,
    provider,
    model,
    source,
    `${timeoutMs / 1000} s`,
    apiKeyConfigured ? 'key is set' : 'no key',
  ]);
  print(table(['WORK', 'PROVIDER', 'MODEL', 'FROM', 'AT MOST', 'KEY'], lines));
  remark(`${answer.primaryModel} handles all other operations.`);
}

export async function showCacheUse({ call, output }: CommandContext, agentId?: string): Promise<void> {
  const answer = await call('agent.cacheStats', agentId === undefined ? {} : { agentId });
  if (output !== 'table') return printAs(output, answer);
  const lines = answer.providers.map((one) => [
    one.provider,
    one.model,
    String(one.callCount),
    `${Math.round(one.cacheHitRate * 100)} %`,
    `$${one.totalCost.toFixed(4)}`,
    `$${one.totalCacheSaved.toFixed(4)}`,
  ]);
  print(table(['PROVIDER', 'MODEL', 'CALLS', 'HITS', 'COST', 'SAVED'], lines));
}

function text(value: unknown): string {
  return value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
}
