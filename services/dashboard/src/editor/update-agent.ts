import type { CallResult } from '@switchyard/client';
import { call } from '../session/client.ts';
import { readConfigState } from './config-state.ts';
import { parseDraft, type Draft } from './draft.ts';
import { isEqual, isTree } from './merge-patch.ts';

/**
 * Writes the changed keys of an agent, which `config.patch` does not accept. The method knows no base version, so the version is compared
 * right before the write.
 */
export async function updateAgent(
  agentId: string,
  draft: Draft,
  { head, dryRun }: { head: string | undefined; dryRun: boolean },
): Promise<CallResult<'agents.update'>> {
  const parsed = parseDraft(draft);
  if ('failure' in parsed) throw new Error(parsed.failure);
  const before = isTree(draft.baseValue) ? draft.baseValue : {};
  const after = isTree(parsed.value) ? parsed.value : {};
  const removed = Object.keys(before).find((key) => !Object.hasOwn(after, key));
  if (removed !== undefined) throw new Error(`The key ${removed} is missing. A key of an agent can be changed, not removed.`);
  const changes = Object.fromEntries(Object.entries(after).filter(([key, value]) => !isEqual(before[key], value)));
  if (Object.keys(changes).length === 0) throw new Error('Nothing has changed.');
  const now = await readConfigState(AbortSignal.timeout(30_000));
  if (now.head?.sha !== head) throw new Error('Another operator changed the configuration. Compare the versions and apply again.');
  return call('agents.update', { ...changes, agentId, dryRun });
}
