import type { Handler } from '@switchyard/bus';
import { listMediaPriceSources, type Models } from '@switchyard/models';

/** Returns the list prices of the installation with their sources. A model whose input and output cost nothing has no known price. */
export function modelsPrices(models: Pick<Models, 'catalogue'>): Handler<'models.prices'> {
  return async () => {
    const priced = (await models.catalogue()).filter(({ cost }) => cost.input > 0 || cost.output > 0);
    const sources = priced.flatMap(({ provider, modelId, priceSource }) =>
      priceSource === undefined ? [] : [{ model: `${provider}/${modelId}`, ...priceSource }],
    );
    return {
      prices: priced.map(({ provider, modelId, cost }) => ({ model: `${provider}/${modelId}`, ...cost })),
      sources: [...sources, ...listMediaPriceSources()],
    };
  };
}
