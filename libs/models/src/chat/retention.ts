import type { ModelRequest, Wishes } from '../model.ts';

export type Retention = NonNullable<Wishes['cacheRetention']>;

/** For how long an upstream is to keep what it read: as is said for this model, else for all. */
export function retentionOf({ wishes = {}, model }: Pick<ModelRequest, 'wishes' | 'model'>): Retention {
  const { cacheRetention = 'none', cacheRetentionOverrides: overrides = {} } = wishes;
  const named = [`${model.provider}/${model.modelId}`, model.modelId].find((name) => Object.hasOwn(overrides, name));
  return (named === undefined ? undefined : overrides[named]) ?? cacheRetention;
}
