import type { Handler } from '@switchyard/bus';
import type { Models } from '@switchyard/models';

/** Providers of the catalogue, and available providers that do not list their models. */
export function modelsListProviders(models: Models): Handler<'models.list_providers'> {
  return async () => {
    const listed = (await models.catalogue()).map(({ provider }) => provider);
    const providers = [...new Set([...(await models.providers()), ...listed])].sort();
    return { providers, count: providers.length };
  };
}
