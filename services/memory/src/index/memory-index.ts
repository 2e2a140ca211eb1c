import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import { openSearchIndex, type Collection, type SearchIndex, type Store, type VectorModel } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { GONE_MS, type EntryDocument } from '../documents/collections.ts';
import { toIndexed } from '../documents/entry.ts';

/** The search index of this replica. It follows the documents and is opened once there is a memory. */
export interface MemoryIndex extends AsyncDisposable {
  /** Returns the index once it has caught up. Undefined while no memory was ever stored. */
  get(signal?: AbortSignal): Promise<SearchIndex | undefined>;
  /** Adds entries written by this replica, so that it finds them at once. Never fails: missed entries are followed later. */
  note(tenant: string, written: readonly EntryDocument[]): Promise<void>;
}

/** Each process has its own index below `dir`. */
export interface IndexPlace {
  dir: string;
  wal: boolean;
}

export interface MemoryIndexDeps {
  entries: Collection<EntryDocument>;
  store: Pick<Store, 'now' | 'identity'>;
  /** Location of the indexes of this machine. After a change the index is rebuilt in the new location. */
  place: () => IndexPlace;
  /** Maximum number of cached query vectors. */
  cachedVectors: () => number;
  /** The embedding model of a provider. After a change the index is rebuilt. */
  model?: () => VectorModel | undefined;
  log: Logger;
  clock: Clock;
  /** Interval at which writes of other replicas are read. */
  lookMs: number;
}

/** A write becomes visible after the time in its document, so each poll overlaps the last one, and every 20th poll overlaps more. */
const OVERLAP_MS = 2_000;
const LONG_OVERLAP_MS = 30_000;
const LONG_EVERY = 20;
const PAGE = 200;

interface Followed {
  index: SearchIndex;
  place: IndexPlace;
  /** The model of its vectors. */
  model: VectorModel | undefined;
  /** All writes before this time are in the index. */
  to: number;
}

export function createMemoryIndex(deps: MemoryIndexDeps): MemoryIndex {
  const { entries, store, log, clock, lookMs } = deps;
  const all = entries.system();
  let followed: Followed | undefined;
  let opening: Promise<Followed | undefined> | undefined;
  let looking: Promise<void> = Promise.resolve();
  let [looks, busy, closed] = [0, false, false];

  /** Reads new writes into the index, page by page. */
  async function follow({ index, place, model, to }: Followed, overlapMs: number): Promise<Followed> {
    const began = store.now();
    const since = Math.max(0, to - overlapMs);
    for (let cursor: string | undefined, more = true; more && !closed;) {
      const page = await all.find(
        { changedAt: { gte: since } },
        { sort: [['changedAt', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
      );
      cursor = page.cursor;
      more = cursor !== undefined;
      const changes = page.items.map(({ tenant, ...entry }) => toIndexed(tenant, entry, model));
      if (changes.length > 0 || !more) await index.apply(changes, more ? null : began);
    }
    return { index, place, model, to: began };
  }

  async function open(): Promise<Followed | undefined> {
    const there = current();
    if (there) return there;
    if (!(await isAnything())) return undefined;
    const place = deps.place();
    await leave(place);
    const model = deps.model?.();
    const options = { identity: store.identity, vectorModel: model, wal: place.wal };
    const index = openSearchIndex(place.dir, options);
    try {
      let to = await index.followedTo();
      // Tombstones of deletions since then may already be removed.
      if (to !== null && to < store.now() - GONE_MS / 2) {
        await index.clear();
        to = null;
      }
      followed = await follow({ index, place, model, to: to ?? 0 }, LONG_OVERLAP_MS);
      return followed;
    } catch (error) {
      await index[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Empties the index at the old location, because it would keep deleted memories. */
  async function leave({ dir }: IndexPlace): Promise<void> {
    if (followed === undefined) return;
    const { index, place } = followed;
    try {
      if (index.alive && place.dir !== dir) await index.clear();
    } catch (err) {
      log.warn({ err, errorKind: 'resource', hint: `remove ${place.dir}` }, 'failed to empty the memory index at its old location');
    }
    await index[Symbol.asyncDispose]();
  }

  /** The open index, if it is alive and has the current model and location. */
  function current(): Followed | undefined {
    if (!followed?.index.alive || followed.model?.name !== deps.model?.()?.name) return undefined;
    const { dir, wal } = deps.place();
    return followed.place.dir === dir && followed.place.wal === wal ? followed : undefined;
  }

  async function isAnything(): Promise<boolean> {
    return (await all.find({ changedAt: { gte: 0 } }, { sort: [['changedAt', 'asc']], limit: 1 })).items.length > 0;
  }

  /** Coalesces concurrent calls into one. */
  function opened(): Promise<Followed | undefined> {
    return (opening ??= open().finally(() => (opening = undefined)));
  }

  async function look(): Promise<void> {
    const there = await opened();
    if (!there || closed) return;
    looks += 1;
    const { index, place, model, to } = await follow(there, looks % LONG_EVERY === 0 ? LONG_OVERLAP_MS : OVERLAP_MS);
    if (followed?.index === index) followed = { index, place, model, to };
  }

  const stop = clock.every(lookMs, () => {
    if (busy || closed) return;
    busy = true;
    looking = look()
      .catch((err: unknown) => {
        if (!closed) log.warn({ err, errorKind: 'dependency', hint: 'it is retried' }, 'the memory index does not follow the documents');
      })
      .finally(() => (busy = false));
  });

  return {
    async get(signal) {
      return (current() ?? (await until(opened(), signal)))?.index;
    },
    async note(tenant, written) {
      try {
        const there = current() ?? (await opened());
        // Entries that were already read when opening are skipped.
        await there?.index.apply(
          written.map((entry) => toIndexed(tenant, entry, there.model)),
          null,
        );
      } catch (err) {
        log.warn({ err, errorKind: 'dependency', hint: 'the next poll adds it' }, 'failed to add a memory to the index');
      }
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      stop();
      await looking;
      await opening?.catch(() => undefined);
      await followed?.index[Symbol.asyncDispose]();
    },
  };
}

/** Waits until the caller's signal aborts. */
async function until<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const leave = (): void => reject(new ServiceError('CANCELLED', 'the caller cancelled the request', { cause: signal.reason }));
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
