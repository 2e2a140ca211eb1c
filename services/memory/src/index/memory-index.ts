import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import { openSearchIndex, type Collection, type SearchIndex, type Store, type VectorModel } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { TOMBSTONE_TTL_MS, type EntryDocument } from '../documents/collections.ts';
import { toSearchEntry } from '../documents/entry.ts';

/** The search index of this replica. It follows the documents and is opened once there is a memory. */
export interface MemoryIndex extends AsyncDisposable {
  /** Returns the index once it has caught up. Undefined while no memory was ever stored. */
  get(signal?: AbortSignal): Promise<SearchIndex | undefined>;
  /** Adds entries written by this replica, so that it finds them at once. Never fails: missed entries are followed later. */
  note(tenant: string, written: readonly EntryDocument[]): Promise<void>;
}

/** Each process has its own index below `dir`. */
export interface IndexLocation {
  dir: string;
  wal: boolean;
}

export interface MemoryIndexDeps {
  entries: Collection<EntryDocument>;
  store: Pick<Store, 'now' | 'identity'>;
  /** Location of the indexes of this machine. After a change the index is rebuilt in the new location. */
  location: () => IndexLocation;
  /** The embedding model of a provider. After a change the index is rebuilt. */
  model?: () => VectorModel | undefined;
  log: Logger;
  clock: Clock;
  /** Interval at which writes of other replicas are read. */
  pollMs: number;
}

/** A write becomes visible after the time in its document, so each poll overlaps the last one, and every 20th poll overlaps more. */
const OVERLAP_MS = 2_000;
const LONG_OVERLAP_MS = 30_000;
const LONG_OVERLAP_EVERY = 20;
const PAGE = 200;

interface Followed {
  index: SearchIndex;
  location: IndexLocation;
  /** The model of its vectors. */
  model: VectorModel | undefined;
  /** All writes before this time are in the index. */
  to: number;
}

export function createMemoryIndex(deps: MemoryIndexDeps): MemoryIndex {
  const { entries, store, log, clock, pollMs } = deps;
  const all = entries.system();
  let followed: Followed | undefined;
  let opening: Promise<Followed | undefined> | undefined;
  let polling: Promise<void> = Promise.resolve();
  let [polls, busy, closed] = [0, false, false];

  /** Reads new writes into the index, page by page. */
  async function follow({ index, location, model, to }: Followed, overlapMs: number): Promise<Followed> {
    const began = store.now();
    const since = Math.max(0, to - overlapMs);
    for (let cursor: string | undefined, more = true; more && !closed;) {
      const page = await all.find(
        { changedAt: { gte: since } },
        { sort: [['changedAt', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
      );
      cursor = page.cursor;
      more = cursor !== undefined;
      const changes = page.items.map(({ tenant, ...entry }) => toSearchEntry(tenant, entry, model));
      if (changes.length > 0 || !more) await index.apply(changes, more ? null : began);
    }
    return { index, location, model, to: began };
  }

  async function open(): Promise<Followed | undefined> {
    const openIndex = getCurrent();
    if (openIndex) return openIndex;
    if (!(await hasEntries())) return undefined;
    const location = deps.location();
    await closePrevious(location);
    const model = deps.model?.();
    const options = { identity: store.identity, vectorModel: model, wal: location.wal };
    const index = openSearchIndex(location.dir, options);
    try {
      let to = await index.getPosition();
      // Tombstones of deletions since then may already be removed.
      if (to !== null && to < store.now() - TOMBSTONE_TTL_MS / 2) {
        await index.clear();
        to = null;
      }
      followed = await follow({ index, location, model, to: to ?? 0 }, LONG_OVERLAP_MS);
      return followed;
    } catch (error) {
      await index[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Empties the index at the old location, because it would keep deleted memories. */
  async function closePrevious({ dir }: IndexLocation): Promise<void> {
    if (followed === undefined) return;
    const { index, location } = followed;
    try {
      if (index.alive && location.dir !== dir) await index.clear();
    } catch (err) {
      log.warn({ err, errorKind: 'resource', hint: `remove ${location.dir}` }, 'failed to empty the memory index at its old location');
    }
    await index[Symbol.asyncDispose]();
  }

  /** The open index, if it is alive and has the current model and location. */
  function getCurrent(): Followed | undefined {
    if (!followed?.index.alive || followed.model?.name !== deps.model?.()?.name) return undefined;
    const { dir, wal } = deps.location();
    return followed.location.dir === dir && followed.location.wal === wal ? followed : undefined;
  }

  async function hasEntries(): Promise<boolean> {
    return (await all.find({ changedAt: { gte: 0 } }, { sort: [['changedAt', 'asc']], limit: 1 })).items.length > 0;
  }

  /** Coalesces concurrent calls into one. */
  function openOnce(): Promise<Followed | undefined> {
    return (opening ??= open().finally(() => (opening = undefined)));
  }

  async function poll(): Promise<void> {
    const openIndex = await openOnce();
    if (!openIndex || closed) return;
    polls += 1;
    const { index, location, model, to } = await follow(openIndex, polls % LONG_OVERLAP_EVERY === 0 ? LONG_OVERLAP_MS : OVERLAP_MS);
    if (followed?.index === index) followed = { index, location, model, to };
  }

  const stop = clock.every(pollMs, () => {
    if (busy || closed) return;
    busy = true;
    polling = poll()
      .catch((err: unknown) => {
        if (!closed) log.warn({ err, errorKind: 'dependency', hint: 'it is retried' }, 'the memory index does not follow the documents');
      })
      .finally(() => (busy = false));
  });

  return {
    async get(signal) {
      return (getCurrent() ?? (await rejectOnAbort(openOnce(), signal)))?.index;
    },
    async note(tenant, written) {
      try {
        const openIndex = getCurrent() ?? (await openOnce());
        // Entries that were already read when opening are skipped.
        await openIndex?.index.apply(
          written.map((entry) => toSearchEntry(tenant, entry, openIndex.model)),
          null,
        );
      } catch (err) {
        log.warn({ err, errorKind: 'dependency', hint: 'the next poll adds it' }, 'failed to add a memory to the index');
      }
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      stop();
      await polling;
      await opening?.catch(() => undefined);
      await followed?.index[Symbol.asyncDispose]();
    },
  };
}

/** Waits until the caller's signal aborts. */
async function rejectOnAbort<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(new ServiceError('CANCELLED', 'the caller cancelled the request', { cause: signal.reason }));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
