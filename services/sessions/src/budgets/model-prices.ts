import type { CatalogueEntry, ModelRef, Models } from '@switchyard/models';

/** List prices by the name of the model, for as long as models stay as they are. */
const prices = new WeakMap<object, Promise<ReadonlyMap<string, CatalogueEntry['cost']>>>();

/** What a call costs by the catalogue, in US dollars. A model that nobody priced costs nothing. */
export async function priceOf(
  models: Pick<Models, 'catalogue' | 'revision'>,
  { provider, modelId }: ModelRef,
  { input, output }: { input: number; output: number },
): Promise<number> {
  const cost = await listPrice(models, { provider, modelId });
  return cost === undefined ? 0 : (input * cost.input + output * cost.output) / 1_000_000;
}

/** What the catalogue says of a model, in US dollars for a million tokens. */
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
