import { randomUUID } from 'node:crypto';
import { ServiceError } from '@switchyard/contracts';
import type { Tree } from '@switchyard/service-kit';
import type { Collection, Documents } from '@switchyard/store';
import type { ConfigLayerDocument, ConfigVersionDocument } from '../documents/collections.ts';
import { versionHash } from './version-hash.ts';

const PAGE_SIZE = 100;
const DELETE_BATCH_SIZE = 100;

/** A version with its layer. */
export interface Version extends ConfigVersionDocument {
  layer: Tree;
}

/** A version before its hash is computed. */
export type Draft = Omit<Version, 'sha' | 'nonce'>;

/** Stored versions, including versions that never became part of the chain. */
export interface VersionStorage {
  /** Without the layer. */
  get(sha: string): Promise<ConfigVersionDocument | null>;
  /** Loads the layer. Throws NOT_FOUND if it is gone and DATA_LOSS if it does not match the hash. */
  read(version: ConfigVersionDocument): Promise<Version>;
  /** Stores a version. It has no effect until the head names it. */
  prepare(draft: Draft): Promise<Version>;
  discard(shas: readonly string[]): Promise<void>;
  /** Iterates over all versions up to this number, highest first, including versions outside the chain. */
  iterateDown(number: number): AsyncGenerator<ConfigVersionDocument, void, void>;
}

interface VersionStorageDeps {
  versions: Collection<ConfigVersionDocument>;
  layers: Collection<ConfigLayerDocument>;
  tenant: string;
}

export function createVersionStorage({ versions: all, layers: allLayers, tenant }: VersionStorageDeps): VersionStorage {
  const versions = all.for({ tenant });
  const layers = allLayers.for({ tenant });
  return {
    get: (sha) => versions.get(sha),
    iterateDown: (number) => iterateDown(versions, number),
    async read(version) {
      const stored = await layers.get(version.sha);
      if (stored === null) throw versionNotFound(version.sha);
      const { sha, ...content } = version;
      if (versionHash(content, stored.layer) === sha) return { ...version, layer: stored.layer };
      throw new ServiceError('DATA_LOSS', `version ${sha} of the configuration was changed in the database`);
    },
    async prepare({ layer, ...draft }) {
      const content = { ...draft, nonce: randomUUID() };
      const sha = versionHash(content, layer);
      // In this order, so that the remains of a crashed writer are found by their version.
      await versions.insert({ sha, ...content });
      await layers.insert({ sha, layer });
      return { sha, ...content, layer };
    },
    async discard(shas) {
      for (let at = 0; at < shas.length; at += DELETE_BATCH_SIZE) {
        const batch = shas.slice(at, at + DELETE_BATCH_SIZE);
        await layers.remove({ sha: { in: batch } });
        await versions.remove({ sha: { in: batch } });
      }
    },
  };
}

export function versionNotFound(sha: string): ServiceError {
  return new ServiceError('NOT_FOUND', `version ${sha} of the configuration does not exist or was removed`);
}

async function* iterateDown(versions: Documents<ConfigVersionDocument>, number: number): AsyncGenerator<ConfigVersionDocument, void, void> {
  for (let next: { cursor?: string } | undefined = {}; next !== undefined;) {
    const { items, cursor } = await versions.find({ number: { lte: number } }, { sort: [['number', 'desc']], limit: PAGE_SIZE, ...next });
    yield* items;
    next = cursor === undefined ? undefined : { cursor };
  }
}
