import type { Handler } from '@switchyard/bus';
import { isTree, merge, type Tree } from '@switchyard/service-kit';
import { checkPatch, type CheckPatchDeps } from '../../agents/check-patch.ts';
import { logChange } from '../../agents/log-change.ts';
import { agentNotFound } from '../../agents/agent-not-found.ts';
import { redactConfig } from '../../config/redact-config.ts';
import { createPatch } from '../../agents/agent-patch.ts';
import { describeIneffective } from '../../agents/ineffective-fields.ts';
import { changeAgent, type ChangeAgentDeps } from '../../agents/change-agent.ts';

/** Merged with the stored values. All other keys are replaced. */
const MERGED_KEYS: ReadonlySet<string> = new Set(['skills', 'scheduler', 'modelFailover']);

export function agentsUpdate(deps: ChangeAgentDeps & CheckPatchDeps): Handler<'agents.update'> {
  const { agents, store } = deps;
  return async ({ agentId, dryRun, ...params }, ctx) => {
    const { tenant } = ctx.principal;
    const change = createPatch(params);
    const ineffective = describeIneffective(agentId, params);

    if (dryRun) {
      const agent = await agents.find(tenant, agentId);
      if (agent === undefined) throw agentNotFound(agentId);
      const preview = agents.preview(tenant, agentId, overlay(agent.stored?.patch ?? {}, change));
      const current = agent.stored?.patch ?? {};
      const errors = (await checkPatch(deps, { tenant, agentId, patch: change, preview, stored: current })).map(({ message }) => message);
      const valid = errors.length === 0;
      return { agentId, dryRun: true as const, valid, errors, ...(valid ? { config: redactConfig(preview), ...ineffective } : {}) };
    }

    const agent = await changeAgent(deps, { tenant, agentId }, async ({ stored }) => {
      const patch = overlay(stored?.patch ?? {}, change);
      const preview = agents.preview(tenant, agentId, patch);
      const [error] = await checkPatch(deps, { tenant, agentId, patch: change, preview, stored: stored?.patch ?? {} });
      if (error) throw error;
      const payload = { section: 'agents', key: agentId, patchedBy: ctx.principal.client, timestamp: store.now() };
      return { patch, emit: [{ name: 'config:patched', payload }] };
    });
    logChange(ctx, agentId, { change: 'updated', keys: Object.keys(change) });
    return { agentId, config: redactConfig(agent.written), updated: true as const, ...ineffective };
  };
}

function overlay(stored: Tree, change: Tree): Tree {
  const result = { ...stored };
  for (const [key, value] of Object.entries(change)) {
    const before = result[key];
    result[key] = MERGED_KEYS.has(key) && isTree(before) && isTree(value) ? merge(before, value) : value;
  }
  return result;
}
