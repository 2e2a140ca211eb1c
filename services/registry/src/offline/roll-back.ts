import { ServiceError } from '@switchyard/contracts';
import { openStore, type Collection } from '@switchyard/store';
import { silentLogger } from '@switchyard/telemetry';
import { changedPaths } from '../config/config-changes.ts';
import { openVersions } from '../config/version-chain.ts';
import { createDecision } from '../config/write-config.ts';
import { configHeadCollection, configLayerCollection, configVersionCollection, type ConfigHeadDocument } from '../documents/collections.ts';

const AUTHOR = 'offline';
const SHORT_HASH_LENGTH = 12;

/** The restored version, and the new version with its content. */
export interface RolledBack {
  sha: string;
  newSha: string;
}

/**
 * Writes a new version of the configuration with the content of an earlier one, into the store of an installation that is not running. The
 * next start uses it. Without `sha` the version before the newest one is restored.
 */
export async function rollBackStored(storeUrl: string, sha: string | undefined): Promise<RolledBack> {
  const store = await openStore(storeUrl, { service: 'registry', log: silentLogger() });
  try {
    const { versions, layers, heads } = await store.open({
      versions: configVersionCollection,
      layers: configLayerCollection,
      heads: configHeadCollection,
    });
    const tenant = await findTenant(heads);
    const chain = await openVersions({ versions, layers, heads, tenant, store });
    const head = await chain.head();
    const target = sha ?? head.parent;
    if (target === undefined)
      throw new ServiceError('FAILED_PRECONDITION', 'The configuration has one version only. There is none to restore.');
    const restored = await chain.find(target);
    const message = `config rollback --offline to ${restored.sha.slice(0, SHORT_HASH_LENGTH)}`;
    const written = await chain.commit({ author: AUTHOR, message }, ({ layer }) =>
      createDecision(
        { store },
        { layer: restored.layer, paths: changedPaths(layer, restored.layer), author: AUTHOR, restores: restored.sha },
      ),
    );
    return { sha: restored.sha, newSha: written.sha };
  } finally {
    await store.close();
  }
}

/** Returns the tenant of the installation. After a change of `tenantId` the chain of the former tenant stays in the store. */
async function findTenant(heads: Collection<ConfigHeadDocument>): Promise<string> {
  const { items } = await heads.system().find({});
  const [newest] = items.toSorted((a, b) => b.number - a.number);
  if (newest === undefined)
    throw new ServiceError('NOT_FOUND', 'This store contains no configuration. Start the server once, or name its data directory.');
  return newest.tenant;
}
