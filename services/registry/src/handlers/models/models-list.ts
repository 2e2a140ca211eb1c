import type { Handler } from '@switchyard/bus';
import type { Models } from '@switchyard/models';
import type { ValidatedModels } from '../../models/validated-models.ts';

export function modelsList(models: Models, validated: ValidatedModels): Handler<'models.list'> {
  return async ({ provider }) => validated.stamp(await models.catalogue(provider));
}
