import type { Tree } from '@switchyard/service-kit';

/** The configuration in the params of a caller. `workspacePath` is ignored, because clients must not choose paths on the server. */
export function createPatch(params: object): Tree {
  return Object.fromEntries(Object.entries(params).filter(([key, value]) => value !== undefined && key !== 'workspacePath'));
}
