import { MAX, listUnusedSettings } from '@switchyard/contracts';

/** Reports written fields that no service reads yet, for the answer of a write. */
export function describeIneffective(agentId: string, params: object): { notInForce?: string[] } {
  const paths = listUnusedSettings(params, `agents.${agentId}`).toSorted();
  return paths.length === 0 ? {} : { notInForce: paths.slice(0, MAX.many) };
}
