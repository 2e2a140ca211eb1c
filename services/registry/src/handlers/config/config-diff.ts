import type { Handler } from '@switchyard/bus';
import { renderDiff } from '../../config/render-diff.ts';
import { requireOperator, type ConfigDeps } from '../../config/write-config.ts';

/** The difference between the newest version and a given version, or its parent. */
export function configDiff({ versions, configuration }: ConfigDeps): Handler<'config.diff'> {
  return async ({ sha }, ctx) => {
    requireOperator(ctx, configuration);
    const head = await versions.head();
    const since = sha ?? head.parent;
    const before = since === undefined ? head : await versions.find(since);
    return { diff: await renderDiff(before.layer, head.layer) };
  };
}
