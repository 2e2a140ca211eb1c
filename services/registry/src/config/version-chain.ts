import { ServiceError } from '@switchyard/contracts';
import type { Tree } from '@switchyard/service-kit';
import { inserted, type Collection, type OutboxEvent, type Store } from '@switchyard/store';
import type { ConfigHeadDocument, ConfigLayerDocument, ConfigVersionDocument } from '../documents/collections.ts';
import { createVersionStorage, versionNotFound, type Draft, type Version } from './version-storage.ts';
import { canonicalJson } from './version-hash.ts';

const HEAD = 'head';
/** Minimum length of an abbreviated hash. */
const MIN_HASH_PREFIX = 7;
/** Every process keeps the layer in memory and reads all of it with each change. */
const MAX_LAYER_BYTES = 512 * 1024;

/** The metadata of a write. */
export interface WriteMetadata {
  author: string;
  agent?: string | undefined;
  message: string;
  /** The version that the head must be. */
  baseSha?: string | undefined;
  /** Checked between two attempts. */
  signal?: AbortSignal;
}

/** The content of a new version, computed from the head. */
export interface Decision {
  layer: Tree;
  section?: string | undefined;
  restores?: string | undefined;
  reason?: string | undefined;
  /** Events that are published with the move of the head. */
  emit: (sha: string) => OutboxEvent[];
}

export type Decide = (head: Version) => Promise<Decision> | Decision;

/** The chain of versions. Each write appends one immutable version to the current head. */
export interface Versions {
  head(): Promise<Version>;
  /** Throws ABORTED with the current head if it is another version. */
  requireHead(sha: string): Promise<void>;
  /** The versions of the chain, newest first. */
  chain(): AsyncGenerator<ConfigVersionDocument, void, void>;
  /** Finds a version of the chain by its hash or a unique prefix. Throws NOT_FOUND. */
  find(name: string): Promise<Version>;
  /** Appends a version. `decide` runs again if another write moved the head. Writes of one process run in order. */
  commit(write: WriteMetadata, decide: Decide): Promise<Version>;
  /** Removes all but the newest versions, and versions outside the chain. With `dryRun` it only counts them. */
  fold(keep: number, options?: { dryRun?: boolean }): Promise<{ removed: number; root: string }>;
}

interface OpenVersionsDeps {
  versions: Collection<ConfigVersionDocument>;
  layers: Collection<ConfigLayerDocument>;
  heads: Collection<ConfigHeadDocument>;
  tenant: string;
  store: Pick<Store, 'now'>;
}

/** Opens the chain and creates an empty first version if there is none. */
export async function openVersions(deps: OpenVersionsDeps): Promise<Versions> {
  const { tenant, store } = deps;
  const storage = createVersionStorage(deps);
  const heads = deps.heads.for({ tenant });
  const runInOrder = createQueue();
  let newest: Version | undefined;

  async function head(): Promise<Version> {
    const version = await headDocument();
    if (newest?.sha !== version.sha) newest = await storage.read(version);
    return newest;
  }

  async function headDocument(): Promise<ConfigVersionDocument> {
    const named = await heads.get(HEAD);
    const version = named && (await storage.get(named.sha));
    if (!version) throw new ServiceError('DATA_LOSS', 'the configuration has no head version');
    return version;
  }

  async function* chain(from?: ConfigVersionDocument): AsyncGenerator<ConfigVersionDocument, void, void> {
    const first = from ?? (await headDocument());
    let expected: string | undefined = first.sha;
    for await (const version of storage.iterateDown(first.number)) {
      if (version.sha !== expected) continue;
      yield version;
      expected = version.parent;
    }
  }

  async function isInChain({ sha, number }: Version): Promise<boolean> {
    for await (const version of chain()) if (version.number <= number) return version.sha === sha;
    return false;
  }

  async function createFirstVersion(): Promise<void> {
    if (await heads.get(HEAD)) return;
    const { message, layer } = await readFirstContent();
    const { sha, number } = await storage.prepare({ author: 'switchyard', message, number: 0, at: store.now(), layer });
    if (!(await inserted(() => heads.insert({ name: HEAD, sha, number })))) await storage.discard([sha]);
  }

  /** Adopts the stored configuration of an earlier `tenantId` of the installation. */
  async function readFirstContent(): Promise<Pick<Draft, 'message' | 'layer'>> {
    const { items } = await deps.heads.system().find({});
    for (const { tenant: earlier, sha } of items) {
      const formerStorage = createVersionStorage({ ...deps, tenant: earlier });
      const version = await formerStorage.get(sha);
      if (version) return { message: `configuration of the former tenant ${earlier}`, layer: (await formerStorage.read(version)).layer };
    }
    return { message: 'first version, empty', layer: {} };
  }

  /** Returns false if another write was faster. After an error it checks whether the write was done. */
  async function moveHead(from: Version, to: Version, emit: readonly OutboxEvent[]): Promise<boolean> {
    const { sha, number } = to;
    try {
      return (await heads.update({ name: HEAD, sha: from.sha }, { set: { sha, number }, emit })) !== null;
    } catch (error) {
      if (await isInChain(to).catch(() => false)) return true;
      throw error;
    }
  }

  async function commit({ author, agent, message, baseSha, signal }: WriteMetadata, decide: Decide): Promise<Version> {
    for (;;) {
      signal?.throwIfAborted();
      const before = await head();
      if (baseSha !== undefined) checkHead(before.sha, baseSha);
      const { layer, emit, ...fields } = await decide(before);
      checkSize(layer);
      const content = omitUndefined({ author, agent, message, ...fields });
      const version = await storage.prepare({ ...content, number: before.number + 1, parent: before.sha, at: store.now(), layer });
      if (await moveHead(before, version, emit(version.sha))) return (newest = version);
      await storage.discard([version.sha]);
    }
  }

  async function fold(keep: number, { dryRun = false } = {}): Promise<{ removed: number; root: string }> {
    const last = await headDocument();
    const keptItems = new Set<string>();
    for await (const { sha } of chain(last)) if (keptItems.add(sha).size === keep) break;
    const removable: string[] = [];
    // Versions with a higher number than the head may be about to become the head, so they are kept.
    for await (const { sha } of storage.iterateDown(last.number)) if (!keptItems.has(sha)) removable.push(sha);
    if (!dryRun) await storage.discard(removable);
    return { removed: removable.length, root: [...keptItems].at(-1) ?? last.sha };
  }

  await createFirstVersion();
  return {
    head,
    requireHead: async (sha) => checkHead((await headDocument()).sha, sha),
    chain: () => chain(),
    fold,
    commit: (write, decide) => runInOrder(() => commit(write, decide)),
    async find(name) {
      const matches: ConfigVersionDocument[] = [];
      for await (const version of chain()) if (matchesHash(version.sha, name)) matches.push(version);
      const [only, ...others] = matches;
      if (only === undefined) throw versionNotFound(name);
      if (others.length === 0) return storage.read(only);
      throw new ServiceError('FAILED_PRECONDITION', `several versions start with ${name}. Use more characters.`);
    },
  };
}

function matchesHash(sha: string, name: string): boolean {
  return name.length >= MIN_HASH_PREFIX && sha.startsWith(name);
}

function omitUndefined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}

function checkHead(sha: string, expected: string): void {
  if (matchesHash(sha, expected)) return;
  throw new ServiceError('ABORTED', `The configuration has changed. Its newest version is ${sha}. Read it and write again.`, {
    details: { reason: 'HEAD_MOVED', retryable: false },
  });
}

function checkSize(layer: Tree): void {
  const bytes = Buffer.byteLength(canonicalJson(layer));
  if (bytes > MAX_LAYER_BYTES)
    throw new ServiceError('OUT_OF_RANGE', `The stored configuration would have ${bytes} bytes. The limit is ${MAX_LAYER_BYTES}.`);
}

/** Runs tasks sequentially. */
function createQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}
