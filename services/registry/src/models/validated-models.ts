import type { CatalogueEntry, ModelRef, Models } from '@switchyard/models';
import type { Documents, Store } from '@switchyard/store';
import type { ValidatedDocument } from '../documents/collections.ts';

const MAX_VALIDATED = 1_000;

/** Models that have answered a test of any replica. */
export interface ValidatedModels {
  /** Tests a model and records a success. */
  test(models: Models, model: ModelRef): Promise<{ ok: boolean; latencyMs: number; error?: string }>;
  /** Marks validated entries. A success counts only while the provider has the same address. */
  stamp(entries: readonly CatalogueEntry[]): Promise<CatalogueEntry[]>;
}

export function createValidatedModels(documents: Documents<ValidatedDocument>, store: Pick<Store, 'now'>): ValidatedModels {
  return {
    async test(models, model) {
      const outcome = await models.test(model);
      const entry = outcome.ok ? (await models.catalogue(model.provider)).find(({ modelId }) => modelId === model.modelId) : undefined;
      if (entry) await documents.replace({ name: formatModelName(model), baseUrl: entry.baseUrl, at: store.now() });
      return outcome;
    },
    async stamp(entries) {
      const validated = new Map((await documents.find({}, { limit: MAX_VALIDATED })).items.map((one) => [one.name, one]));
      return entries.map((entry) => {
        const success = validated.get(formatModelName(entry));
        return success?.baseUrl === entry.baseUrl ? { ...entry, validated: true, validatedAt: success.at } : entry;
      });
    },
  };
}

function formatModelName({ provider, modelId }: ModelRef): string {
  return `${provider}/${modelId}`;
}
