import type { Handler } from '@switchyard/bus';
import { listCatalogue, type TenantCatalogueDeps } from '../../models/tenant-catalogue.ts';

/** Providers of the catalogue, and for the installation tenant also available providers that do not list their models. */
export function modelsListProviders(deps: TenantCatalogueDeps): Handler<'models.list_providers'> {
  return async (_, ctx) => {
    const listed = (await listCatalogue(deps, ctx)).map(({ provider }) => provider);
    const available = ctx.principal.tenant === deps.configuration.current.tenantId ? await deps.models.providers() : [];
    const providers = [...new Set([...available, ...listed])].sort();
    return { providers, count: providers.length };
  };
}
