import type { CatalogueEntry, ModelRef, Models } from '@switchyard/models';

/** List prices by model name, cached per revision of the models. */
const prices = new WeakMap<object, Promise<ReadonlyMap<string, CatalogueEntry['cost']>>>();

/** Returns the cost of a call at list price in US dollars. A model without a price costs 0. */
export async function getPrice(
  models: Pick<Models, 'catalogue' | 'revision'>,
  { provider, modelId }: ModelRef,
  { input, output }: { input: number; output: number },
): Promise<number> {
  const cost = await listPrice(models, { provider, modelId });
  return cost === undefined ? 0 : (input * cost.input + output * cost.output) / 1_000_000;
}

/** Returns the list price of a model in US dollars per million tokens. */
export async function listPrice(
  models: Pick<Models, 'catalogue' | 'revision'>,
  { provider, modelId }: ModelRef,
): Promise<CatalogueEntry['cost'] | undefined> {
  const revision = await models.revision();
  const known = prices.get(revision) ?? read(models);
  prices.set(revision, known);
  return (await known).get(`${provider}/${modelId}`);
}

async function read(models: Pick<Models, 'catalogue'>): Promise<ReadonlyMap<string, CatalogueEntry['cost']>> {
  return new Map((await models.catalogue()).map(({ provider, modelId, cost }) => [`${provider}/${modelId}`, cost]));
}
