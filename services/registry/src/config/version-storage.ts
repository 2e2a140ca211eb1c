import { randomUUID } from 'node:crypto';
import { ServiceError } from '@switchyard/contracts';
import type { Tree } from '@switchyard/service-kit';
import type { Collection, Documents } from '@switchyard/store';
import type { ConfigLayerDocument, ConfigVersionDocument } from '../documents/collections.ts';
import { versionHash } from './version-hash.ts';

const PAGE = 100;
const DELETED_AT_ONCE = 100;

/** A version with its layer. */
export interface Version extends ConfigVersionDocument {
  layer: Tree;
}

/** A version before its hash is computed. */
export type Draft = Omit<Version, 'sha' | 'nonce'>;

/** Stored versions, including versions that never became part of the chain. */
export interface KeptVersions {
  /** Without the layer. */
  get(sha: string): Promise<ConfigVersionDocument | null>;
  /** Loads the layer. Throws NOT_FOUND if it is gone and DATA_LOSS if it does not match the hash. */
  read(version: ConfigVersionDocument): Promise<Version>;
  /** Stores a version. It has no effect until the head names it. */
  prepare(draft: Draft): Promise<Version>;
  discard(shas: readonly string[]): Promise<void>;
  /** Iterates over all versions up to this number, highest first, including versions outside the chain. */
  downFrom(number: number): AsyncGenerator<ConfigVersionDocument, void, void>;
}

interface Given {
  versions: Collection<ConfigVersionDocument>;
  layers: Collection<ConfigLayerDocument>;
  tenant: string;
}

export function createKeptVersions({ versions: all, layers: allLayers, tenant }: Given): KeptVersions {
  const versions = all.for({ tenant });
  const layers = allLayers.for({ tenant });
  return {
    get: (sha) => versions.get(sha),
    downFrom: (number) => downFrom(versions, number),
    async read(version) {
      const kept = await layers.get(version.sha);
      if (kept === null) throw noVersion(version.sha);
      const { sha, ...said } = version;
      if (versionHash(said, kept.layer) === sha) return { ...version, layer: kept.layer };
      throw new ServiceError('DATA_LOSS', `version ${sha} of the configuration was changed in the database`);
    },
    async prepare({ layer, ...draft }) {
      const said = { ...draft, nonce: randomUUID() };
      const sha = versionHash(said, layer);
      // In this order, so that the remains of a crashed writer are found by their version.
      await versions.insert({ sha, ...said });
      await layers.insert({ sha, layer });
      return { sha, ...said, layer };
    },
    async discard(shas) {
      for (let at = 0; at < shas.length; at += DELETED_AT_ONCE) {
        const some = shas.slice(at, at + DELETED_AT_ONCE);
        await layers.remove({ sha: { in: some } });
        await versions.remove({ sha: { in: some } });
      }
    },
  };
}

export function noVersion(sha: string): ServiceError {
  return new ServiceError('NOT_FOUND', `version ${sha} of the configuration does not exist or was removed`);
}

async function* downFrom(versions: Documents<ConfigVersionDocument>, number: number): AsyncGenerator<ConfigVersionDocument, void, void> {
  for (let next: { cursor?: string } | undefined = {}; next !== undefined;) {
    const { items, cursor } = await versions.find({ number: { lte: number } }, { sort: [['number', 'desc']], limit: PAGE, ...next });
    yield* items;
    next = cursor === undefined ? undefined : { cursor };
  }
}
