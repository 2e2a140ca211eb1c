import type { Handler } from '@switchyard/bus';
import { isTree, merge, type Tree } from '@switchyard/service-kit';
import { checkPatch, type PatchGiven } from '../../agents/check-patch.ts';
import { logChange } from '../../agents/log-change.ts';
import { noAgent } from '../../agents/agent-not-found.ts';
import { shownConfig } from '../../config/redact-config.ts';
import { toPatch } from '../../agents/agent-patch.ts';
import { withoutEffect } from '../../agents/ineffective-fields.ts';
import { changeAgent, type WriteGiven } from '../../agents/change-agent.ts';

/** Merged with the stored values. All other keys are replaced. */
const MERGED_KEYS: ReadonlySet<string> = new Set(['skills', 'scheduler', 'modelFailover']);

export function agentsUpdate(given: WriteGiven & PatchGiven): Handler<'agents.update'> {
  const { agents, store } = given;
  return async ({ agentId, dryRun, ...params }, ctx) => {
    const { tenant } = ctx.principal;
    const change = toPatch(params);
    const unread = withoutEffect(agentId, params);

    if (dryRun) {
      const agent = await agents.find(tenant, agentId);
      if (agent === undefined) throw noAgent(agentId);
      const preview = agents.preview(tenant, agentId, overlay(agent.stored?.patch ?? {}, change));
      const present = agent.stored?.patch ?? {};
      const errors = (await checkPatch(given, { tenant, agentId, patch: change, preview, stored: present })).map(({ message }) => message);
      const valid = errors.length === 0;
      return { agentId, dryRun: true as const, valid, errors, ...(valid ? { config: shownConfig(preview), ...unread } : {}) };
    }

    const agent = await changeAgent(given, { tenant, agentId }, async ({ stored }) => {
      const patch = overlay(stored?.patch ?? {}, change);
      const preview = agents.preview(tenant, agentId, patch);
      const [refused] = await checkPatch(given, { tenant, agentId, patch: change, preview, stored: stored?.patch ?? {} });
      if (refused) throw refused;
      const payload = { section: 'agents', key: agentId, patchedBy: ctx.principal.client, timestamp: store.now() };
      return { patch, emit: [{ name: 'config:patched', payload }] };
    });
    logChange(ctx, agentId, { change: 'updated', keys: Object.keys(change) });
    return { agentId, config: shownConfig(agent.written), updated: true as const, ...unread };
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
