import type { Handler } from '@switchyard/bus';
import type { ConfigurationSource } from '@switchyard/service-kit';
import type { GetActiveVersion } from '../../config/active-version.ts';
import type { Versions } from '../../config/version-chain.ts';
import { requireOperator } from '../../config/write-config.ts';
import type { ConfigVersionDocument } from '../../documents/collections.ts';

interface ConfigHistoryDeps {
  versions: Pick<Versions, 'chain'>;
  configuration: Pick<ConfigurationSource, 'current'>;
  inForce: GetActiveVersion;
}

export function configHistory({ versions, configuration, inForce }: ConfigHistoryDeps): Handler<'config.history'> {
  return async ({ limit }, ctx) => {
    requireOperator(ctx, configuration);
    const entries: ReturnType<typeof toHistoryEntry>[] = [];
    for await (const version of versions.chain()) if (entries.push(toHistoryEntry(version)) >= limit) break;
    const now = inForce();
    return { entries, ...(now === undefined ? {} : { inForce: now }) };
  };
}

function toHistoryEntry({ sha, at, nonce: _nonce, number: _number, ...fields }: ConfigVersionDocument) {
  return { sha, date: new Date(at).toISOString(), ...fields };
}
