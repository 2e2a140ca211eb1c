import type { Handler } from '@switchyard/bus';
import type { ConfigurationSource } from '@switchyard/service-kit';
import type { InForce } from '../../config/active-version.ts';
import type { Versions } from '../../config/version-chain.ts';
import { requireOperator } from '../../config/write-config.ts';
import type { ConfigVersionDocument } from '../../documents/collections.ts';

interface Given {
  versions: Pick<Versions, 'chain'>;
  configuration: Pick<ConfigurationSource, 'current'>;
  inForce: InForce;
}

export function configHistory({ versions, configuration, inForce }: Given): Handler<'config.history'> {
  return async ({ limit }, ctx) => {
    requireOperator(ctx, configuration);
    const entries: ReturnType<typeof entryOf>[] = [];
    for await (const version of versions.chain()) if (entries.push(entryOf(version)) >= limit) break;
    const now = inForce();
    return { entries, ...(now === undefined ? {} : { inForce: now }) };
  };
}

function entryOf({ sha, at, nonce: _nonce, number: _number, ...said }: ConfigVersionDocument) {
  return { sha, date: new Date(at).toISOString(), ...said };
}
