import { ServiceError } from '@switchyard/contracts';
import type { Tree } from '@switchyard/service-kit';
import { inserted, type Collection, type OutboxEvent, type Store } from '@switchyard/store';
import type { ConfigHeadDocument, ConfigLayerDocument, ConfigVersionDocument } from '../documents/collections.ts';
import { createKeptVersions, noVersion, type Draft, type Version } from './version-storage.ts';
import { canonicalJson } from './version-hash.ts';

const HEAD = 'head';
/** Minimum length of an abbreviated hash. */
const SHORTEST_NAME = 7;
/** Every process keeps the layer in memory and reads all of it with each change. */
const MOST_BYTES = 512 * 1024;

/** The metadata of a write. */
export interface Write {
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
  commit(write: Write, decide: Decide): Promise<Version>;
  /** Removes all but the newest versions, and versions outside the chain. With `dryRun` it only counts them. */
  fold(keep: number, options?: { dryRun?: boolean }): Promise<{ removed: number; root: string }>;
}

interface Given {
  versions: Collection<ConfigVersionDocument>;
  layers: Collection<ConfigLayerDocument>;
  heads: Collection<ConfigHeadDocument>;
  tenant: string;
  store: Pick<Store, 'now'>;
}

/** Opens the chain and creates an empty first version if there is none. */
export async function openVersions(given: Given): Promise<Versions> {
  const { tenant, store } = given;
  const kept = createKeptVersions(given);
  const heads = given.heads.for({ tenant });
  const inTurn = createQueue();
  let newest: Version | undefined;

  async function head(): Promise<Version> {
    const version = await headDocument();
    if (newest?.sha !== version.sha) newest = await kept.read(version);
    return newest;
  }

  async function headDocument(): Promise<ConfigVersionDocument> {
    const named = await heads.get(HEAD);
    const version = named && (await kept.get(named.sha));
    if (!version) throw new ServiceError('DATA_LOSS', 'the configuration has no head version');
    return version;
  }

  async function* chain(from?: ConfigVersionDocument): AsyncGenerator<ConfigVersionDocument, void, void> {
    const first = from ?? (await headDocument());
    let expected: string | undefined = first.sha;
    for await (const version of kept.downFrom(first.number)) {
      if (version.sha !== expected) continue;
      yield version;
      expected = version.parent;
    }
  }

  async function counts({ sha, number }: Version): Promise<boolean> {
    for await (const version of chain()) if (version.number <= number) return version.sha === sha;
    return false;
  }

  async function begin(): Promise<void> {
    if (await heads.get(HEAD)) return;
    const { message, layer } = await firstWords();
    const { sha, number } = await kept.prepare({ author: 'switchyard', message, number: 0, at: store.now(), layer });
    if (!(await inserted(() => heads.insert({ name: HEAD, sha, number })))) await kept.discard([sha]);
  }

  /** Adopts the stored configuration of an earlier `tenantId` of the installation. */
  async function firstWords(): Promise<Pick<Draft, 'message' | 'layer'>> {
    const { items } = await given.heads.system().find({});
    for (const { tenant: earlier, sha } of items) {
      const theirs = createKeptVersions({ ...given, tenant: earlier });
      const version = await theirs.get(sha);
      if (version) return { message: `configuration of the former tenant ${earlier}`, layer: (await theirs.read(version)).layer };
    }
    return { message: 'first version, empty', layer: {} };
  }

  /** Returns false if another write was faster. After an error it checks whether the write was done. */
  async function moveHead(from: Version, to: Version, emit: readonly OutboxEvent[]): Promise<boolean> {
    const { sha, number } = to;
    try {
      return (await heads.update({ name: HEAD, sha: from.sha }, { set: { sha, number }, emit })) !== null;
    } catch (error) {
      if (await counts(to).catch(() => false)) return true;
      throw error;
    }
  }

  async function commit({ author, agent, message, baseSha, signal }: Write, decide: Decide): Promise<Version> {
    for (;;) {
      signal?.throwIfAborted();
      const before = await head();
      if (baseSha !== undefined) checkHead(before.sha, baseSha);
      const { layer, emit, ...decided } = await decide(before);
      checkSize(layer);
      const said = stated({ author, agent, message, ...decided });
      const version = await kept.prepare({ ...said, number: before.number + 1, parent: before.sha, at: store.now(), layer });
      if (await moveHead(before, version, emit(version.sha))) return (newest = version);
      await kept.discard([version.sha]);
    }
  }

  async function fold(keep: number, { dryRun = false } = {}): Promise<{ removed: number; root: string }> {
    const last = await headDocument();
    const staying = new Set<string>();
    for await (const { sha } of chain(last)) if (staying.add(sha).size === keep) break;
    const going: string[] = [];
    // Versions with a higher number than the head may be about to become the head, so they are kept.
    for await (const { sha } of kept.downFrom(last.number)) if (!staying.has(sha)) going.push(sha);
    if (!dryRun) await kept.discard(going);
    return { removed: going.length, root: [...staying].at(-1) ?? last.sha };
  }

  await begin();
  return {
    head,
    requireHead: async (sha) => checkHead((await headDocument()).sha, sha),
    chain: () => chain(),
    fold,
    commit: (write, decide) => inTurn(() => commit(write, decide)),
    async find(name) {
      const found: ConfigVersionDocument[] = [];
      for await (const version of chain()) if (isNamed(version.sha, name)) found.push(version);
      const [only, ...others] = found;
      if (only === undefined) throw noVersion(name);
      if (others.length === 0) return kept.read(only);
      throw new ServiceError('FAILED_PRECONDITION', `several versions start with ${name}. Use more characters.`);
    },
  };
}

function isNamed(sha: string, name: string): boolean {
  return name.length >= SHORTEST_NAME && sha.startsWith(name);
}

function stated<T extends object>(said: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}

function checkHead(sha: string, wanted: string): void {
  if (isNamed(sha, wanted)) return;
  throw new ServiceError('ABORTED', `The configuration has changed. Its newest version is ${sha}. Read it and write again.`, {
    details: { reason: 'HEAD_MOVED', retryable: false },
  });
}

function checkSize(layer: Tree): void {
  const bytes = Buffer.byteLength(canonicalJson(layer));
  if (bytes > MOST_BYTES)
    throw new ServiceError('OUT_OF_RANGE', `The stored configuration would have ${bytes} bytes. The limit is ${MOST_BYTES}.`);
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
