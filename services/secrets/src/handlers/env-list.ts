import type { Handler } from '@switchyard/bus';
import { matchesGlob } from '@switchyard/security';
import type { SecretValues } from '../values/secret-values.ts';
import type { RateLimit } from '../values/rate-limit.ts';
import { requireOperator } from '../values/require-operator.ts';
import type { SecretListing } from '../values/secret-storage.ts';

const MAX_CALLS_PER_MINUTE = 30;

interface EnvListDeps {
  values: SecretValues;
  rateLimit: RateLimit;
  tenantId: string;
}

/** Lists the names of all storages. If a name is in several, the entry of the storage that is read first is listed. */
export function envList({ values, rateLimit, tenantId }: EnvListDeps): Handler<'env.list'> {
  return async ({ filter = '*', limit }, { principal }) => {
    requireOperator(principal, tenantId);
    await rateLimit(principal, 'env.list', MAX_CALLS_PER_MINUTE);
    const all = new Map<string, SecretListing>();
    for (const storage of values.storages) for (const entry of await storage.list()) if (!all.has(entry.name)) all.set(entry.name, entry);
    const pattern = filter.toLowerCase();
    const matches = [...all.values()].filter(({ name }) => matchesGlob(pattern, name.toLowerCase()));
    matches.sort((a, b) => (a.name < b.name ? -1 : 1));
    return { secrets: matches.slice(0, limit), total: matches.length, truncated: matches.length > limit };
  };
}
