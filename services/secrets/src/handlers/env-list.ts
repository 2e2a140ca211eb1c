import type { Handler } from '@switchyard/bus';
import { matchesGlob } from '@switchyard/security';
import type { OpenedValues } from '../values/secret-values.ts';
import type { Rate } from '../values/rate-limit.ts';
import { requireOperator } from '../values/require-operator.ts';
import type { Listed } from '../values/secret-storage.ts';

const A_MINUTE = 30;

interface Given {
  values: OpenedValues;
  rate: Rate;
  tenantId: string;
}

/** Lists the names of all storages. If a name is in several, the entry of the one that is read first is listed. */
export function envList({ values, rate, tenantId }: Given): Handler<'env.list'> {
  return async ({ filter = '*', limit }, { principal }) => {
    requireOperator(principal, tenantId);
    await rate(principal, 'env.list', A_MINUTE);
    const all = new Map<string, Listed>();
    for (const place of values.places) for (const one of await place.list()) if (!all.has(one.name)) all.set(one.name, one);
    const pattern = filter.toLowerCase();
    const found = [...all.values()].filter(({ name }) => matchesGlob(pattern, name.toLowerCase()));
    found.sort((a, b) => (a.name < b.name ? -1 : 1));
    return { secrets: found.slice(0, limit), total: found.length, truncated: found.length > limit };
  };
}
