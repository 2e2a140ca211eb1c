import type { Ctx, Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { isTree, merge, type Tree } from '@switchyard/service-kit';
import { checkPatch, type CheckPatchDeps } from '../../agents/check-patch.ts';
import { logChange } from '../../agents/log-change.ts';
import { getVersion, type Agent } from '../../agents/agents.ts';
import { agentNotFound } from '../../agents/agent-not-found.ts';
import { redactConfig } from '../../config/redact-config.ts';
import { createPatch } from '../../agents/agent-patch.ts';
import { describeIneffective } from '../../agents/ineffective-fields.ts';
import { changeAgent, type ChangeAgentDeps } from '../../agents/change-agent.ts';

/** Merged with the stored values. All other keys are replaced. */
const MERGED_KEYS: ReadonlySet<string> = new Set(['skills', 'scheduler', 'modelFailover']);

export type UpdateAgentDeps = ChangeAgentDeps & CheckPatchDeps;

export function agentsUpdate(deps: UpdateAgentDeps): Handler<'agents.update'> {
  const { agents } = deps;
  return async ({ agentId, dryRun, baseVersion, ...params }, ctx) => {
    const { tenant } = ctx.principal;
    const change = createPatch(params);
    const ineffective = describeIneffective(agentId, params);

    if (dryRun) {
      const agent = await agents.find(tenant, agentId);
      if (agent === undefined) throw agentNotFound(agentId);
      requireVersion(agent, baseVersion);
      const preview = agents.preview(tenant, agentId, overlay(agent.stored?.patch ?? {}, change));
      const current = agent.stored?.patch ?? {};
      const errors = (await checkPatch(deps, { tenant, agentId, patch: change, preview, stored: current })).map(({ message }) => message);
      const valid = errors.length === 0;
      return { agentId, dryRun: true as const, valid, errors, ...(valid ? { config: redactConfig(preview), ...ineffective } : {}) };
    }

    const agent = await updateAgent(deps, ctx, { agentId, change, baseVersion, apply: (stored) => overlay(stored, change) });
    return { agentId, config: redactConfig(agent.written), updated: true as const, ...ineffective };
  };
}

interface UpdateAgentOptions {
  agentId: string;
  /** The requested change, which is checked and whose keys are logged. */
  change: Tree;
  /** The version that the caller has seen; undefined to change any version. */
  baseVersion?: number | undefined;
  /** Returns the stored layer after the change. */
  apply: (stored: Tree) => Tree;
}

/** Checks and writes a change of the stored layer of an agent. */
export async function updateAgent(
  deps: UpdateAgentDeps,
  ctx: Pick<Ctx, 'principal' | 'log'>,
  { agentId, change, baseVersion, apply }: UpdateAgentOptions,
): Promise<Agent> {
  const { tenant, client } = ctx.principal;
  const agent = await changeAgent(deps, { tenant, agentId }, async (current) => {
    requireVersion(current, baseVersion);
    const { stored } = current;
    const patch = apply(stored?.patch ?? {});
    const preview = deps.agents.preview(tenant, agentId, patch);
    const [error] = await checkPatch(deps, { tenant, agentId, patch: change, preview, stored: stored?.patch ?? {} });
    if (error) throw error;
    const payload = { section: 'agents', key: agentId, patchedBy: client, timestamp: deps.store.now() };
    return { patch, emit: [{ name: 'config:patched', payload }] };
  });
  logChange(ctx, agentId, { change: 'updated', keys: Object.keys(change) });
  return agent;
}

function requireVersion(agent: Agent, baseVersion: number | undefined): void {
  const version = getVersion(agent);
  if (baseVersion === undefined || baseVersion === version) return;
  throw new ServiceError(
    'ABORTED',
    `The agent ${agent.agentId} was changed: it is version ${version}, not ${baseVersion}. Read it again.`,
    {
      details: { reason: 'HEAD_MOVED', retryable: false },
    },
  );
}

function overlay(stored: Tree, change: Tree): Tree {
  const result = { ...stored };
  for (const [key, value] of Object.entries(change)) {
    const before = result[key];
    result[key] = MERGED_KEYS.has(key) && isTree(before) && isTree(value) ? merge(before, value) : value;
  }
  return result;
}
