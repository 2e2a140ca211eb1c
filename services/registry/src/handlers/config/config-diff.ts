import type { Handler } from '@switchyard/bus';
import { listChanges } from '../../config/list-changes.ts';
import { renderDiff } from '../../config/render-diff.ts';
import { requireOperator, type ConfigDeps } from '../../config/write-config.ts';

/** The difference between a version, or the parent of the later one, and a later version, by default the newest. */
export function configDiff({ versions, configuration }: ConfigDeps): Handler<'config.diff'> {
  return async ({ sha, to }, ctx) => {
    requireOperator(ctx, configuration);
    const after = to === undefined ? await versions.head() : await versions.find(to);
    const since = sha ?? after.parent;
    const before = since === undefined ? after : await versions.find(since);
    return { diff: await renderDiff(before.layer, after.layer), changes: listChanges(before.layer, after.layer) };
  };
}
