import { MAX, listUnusedSettings } from '@switchyard/contracts';

/** What the answer of a write adds when some of what was asked for has no effect yet. */
export function withoutEffect(agentId: string, params: object): { notInForce?: string[] } {
  const paths = listUnusedSettings(params, `agents.${agentId}`).toSorted();
  return paths.length === 0 ? {} : { notInForce: paths.slice(0, MAX.many) };
}
