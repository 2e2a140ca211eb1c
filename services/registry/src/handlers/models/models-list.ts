import type { Handler } from '@switchyard/bus';
import { listCatalogue, type TenantCatalogueDeps } from '../../models/tenant-catalogue.ts';
import type { ValidatedModels } from '../../models/validated-models.ts';

export function modelsList(deps: TenantCatalogueDeps, validated: ValidatedModels): Handler<'models.list'> {
  return async ({ provider }, ctx) => validated.stamp(await listCatalogue(deps, ctx, provider));
}
