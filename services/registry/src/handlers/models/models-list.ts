import type { Handler } from '@switchyard/bus';
import type { Models } from '@switchyard/models';
import type { Validated } from '../../models/validated-models.ts';

export function modelsList(models: Models, validated: Validated): Handler<'models.list'> {
  return async ({ provider }) => validated.stamp(await models.catalogue(provider));
}
