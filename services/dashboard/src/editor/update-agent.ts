import type { CallResult } from '@switchyard/client';
import { call } from '../session/client.ts';
import { parseDraft, type Draft } from './draft.ts';
import { isEqual, isTree } from './merge-patch.ts';

/**
 * Writes the changed keys of an agent, which `config.patch` does not accept. The write names the version in which these keys still had
 * their base values, so that it never replaces a change that its author has not seen.
 */
export async function updateAgent(agentId: string, draft: Draft, { dryRun }: { dryRun: boolean }): Promise<CallResult<'agents.update'>> {
  const parsed = parseDraft(draft);
  if ('failure' in parsed) throw new Error(parsed.failure);
  const before = isTree(draft.baseValue) ? draft.baseValue : {};
  const after = isTree(parsed.value) ? parsed.value : {};
  const removed = Object.keys(before).find((key) => !Object.hasOwn(after, key));
  if (removed !== undefined) throw new Error(`The key ${removed} is missing. A key of an agent can be changed, not removed.`);
  const changes = Object.fromEntries(Object.entries(after).filter(([key, value]) => !isEqual(before[key], value)));
  if (Object.keys(changes).length === 0) throw new Error('Nothing has changed.');
  const { config, version } = await call('agents.get', { agentId });
  if (Object.keys(changes).some((key) => !isEqual(config[key], before[key])))
    throw new Error('Another operator changed this agent. Compare the versions and apply again.');
  return call('agents.update', { ...changes, agentId, dryRun, ...(version === undefined ? {} : { baseVersion: version }) });
}
