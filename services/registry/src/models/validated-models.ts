import type { CatalogueEntry, ModelRef, Models } from '@switchyard/models';
import type { Documents, Store } from '@switchyard/store';
import type { ValidatedDocument } from '../documents/collections.ts';

const MOST = 1_000;

/** Models that have answered a test of any replica. */
export interface Validated {
  /** Tests a model and records a success. */
  test(models: Models, model: ModelRef): Promise<{ ok: boolean; latencyMs: number; error?: string }>;
  /** Marks validated entries. A success counts only while the provider has the same address. */
  stamp(entries: readonly CatalogueEntry[]): Promise<CatalogueEntry[]>;
}

export function createValidated(mine: Documents<ValidatedDocument>, store: Pick<Store, 'now'>): Validated {
  return {
    async test(models, model) {
      const outcome = await models.test(model);
      const entry = outcome.ok ? (await models.catalogue(model.provider)).find(({ modelId }) => modelId === model.modelId) : undefined;
      if (entry) await mine.replace({ name: nameOf(model), baseUrl: entry.baseUrl, at: store.now() });
      return outcome;
    },
    async stamp(entries) {
      const known = new Map((await mine.find({}, { limit: MOST })).items.map((one) => [one.name, one]));
      return entries.map((entry) => {
        const there = known.get(nameOf(entry));
        return there?.baseUrl === entry.baseUrl ? { ...entry, validated: true, validatedAt: there.at } : entry;
      });
    },
  };
}

function nameOf({ provider, modelId }: ModelRef): string {
  return `${provider}/${modelId}`;
}
