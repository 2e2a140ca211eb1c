import type { Tree } from '@switchyard/service-kit';

/** The configuration in a caller's params. Where an agent's files lie is not for callers to say. */
export function toPatch(params: object): Tree {
  return Object.fromEntries(Object.entries(params).filter(([key, value]) => value !== undefined && key !== 'workspacePath'));
}
