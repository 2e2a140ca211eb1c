import { listUnusedSettings } from '@switchyard/contracts';
import type { EnvironmentLayer } from './environment-layer.ts';
import { getPlace, type Origin } from './origin.ts';
import type { Tree } from './configuration-tree.ts';

/** A configured setting that no service reads yet. */
export interface IneffectiveSetting {
  /** Dotted, such as `autoReplyEngine.enabled`. */
  path: string;
  /** The file or the variable that sets it. */
  from: string;
}

/** Finds configured settings without effect, sorted by path. Names the last layer that sets each of them. */
export function findIneffective(layers: readonly { origin: Origin; tree: Tree }[], environment: EnvironmentLayer): IneffectiveSetting[] {
  const found = new Map<string, string>();
  for (const { origin, tree } of layers) for (const path of listUnusedSettings(tree)) found.set(path, getPlace(origin));
  for (const path of listUnusedSettings(environment.tree)) {
    const pin = environment.pins.find((one) => path === one.path || path.startsWith(`${one.path}.`));
    found.set(path, pin?.variable ?? 'the environment');
  }
  return [...found].map(([path, from]) => ({ path, from })).sort((a, b) => (a.path < b.path ? -1 : 1));
}
