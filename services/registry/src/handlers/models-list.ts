import type { Handler } from '@switchyard/bus';
import type { Models } from '@switchyard/models';

export function modelsList(models: Models): Handler<'models.list'> {
  return ({ provider }) => models.catalogue(provider);
}
