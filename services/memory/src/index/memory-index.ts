import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import { openSearchIndex, type Collection, type SearchIndex, type Store, type VectorModel } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { GONE_MS, type EntryDocument } from '../documents/collections.ts';
import { toIndexed } from '../documents/entry.ts';

/** This replica's index of what is remembered. It follows the documents, and is opened when there is something to find. */
export interface MemoryIndex extends AsyncDisposable {
  /** The index, once it knows all that was there when it was opened; undefined while nothing was ever remembered. */
  get(signal?: AbortSignal): Promise<SearchIndex | undefined>;
  /** What was written here can be found here at once. Never fails: what is missed here is followed later. */
  note(tenant: string, written: readonly EntryDocument[]): Promise<void>;
}

/** Below `dir` each process has an index of its own. */
export interface IndexPlace {
  dir: string;
  wal: boolean;
}

export interface MemoryIndexDeps {
  entries: Collection<EntryDocument>;
  store: Pick<Store, 'now' | 'identity'>;
  /** Where the indexes of this machine are, and how they are kept: one that is to be elsewhere is made anew there. */
  place: () => IndexPlace;
  /** Who makes vectors, if a provider does: an index of another one's is begun anew. */
  model?: () => VectorModel | undefined;
  log: Logger;
  clock: Clock;
  /** How often is looked for what other replicas wrote. */
  lookMs: number;
}

/** A write is seen some time after the moment that is written in it: so much is read again, each time and now and then. */
const OVERLAP_MS = 2_000;
const LONG_OVERLAP_MS = 30_000;
const LONG_EVERY = 20;
const PAGE = 200;

interface Followed {
  index: SearchIndex;
  place: IndexPlace;
  /** Whose vectors it takes. */
  model: VectorModel | undefined;
  /** All that was written before is in it. */
  to: number;
}

export function createMemoryIndex(deps: MemoryIndexDeps): MemoryIndex {
  const { entries, store, log, clock, lookMs } = deps;
  const all = entries.system();
  let followed: Followed | undefined;
  let opening: Promise<Followed | undefined> | undefined;
  let looking: Promise<void> = Promise.resolve();
  let [looks, busy, closed] = [0, false, false];

  /** Reads what was written since, page by page, into the index. */
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
      let to = await index.getPosition();
      // What was forgotten meanwhile may have left no trace.
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

  /** What stays behind where nobody looks would outlive what is forgotten. */
  async function leave({ dir }: IndexPlace): Promise<void> {
    if (followed === undefined) return;
    const { index, place } = followed;
    try {
      if (index.alive && place.dir !== dir) await index.clear();
    } catch (err) {
      log.warn({ err, errorKind: 'resource', hint: `remove ${place.dir}` }, 'an index that is elsewhere now could not be emptied');
    }
    await index[Symbol.asyncDispose]();
  }

  /** One that can be asked, and whose vectors are made as they are now. */
  function current(): Followed | undefined {
    if (!followed?.index.alive || followed.model?.name !== deps.model?.()?.name) return undefined;
    const { dir, wal } = deps.place();
    return followed.place.dir === dir && followed.place.wal === wal ? followed : undefined;
  }

  async function isAnything(): Promise<boolean> {
    return (await all.find({ changedAt: { gte: 0 } }, { sort: [['changedAt', 'asc']], limit: 1 })).items.length > 0;
  }

  /** Whoever comes while it is opened waits for the same one. */
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
        if (!closed) log.warn({ err, errorKind: 'dependency', hint: 'it is tried again in a moment' }, 'the memory index does not follow');
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
        // What opening it has read already is passed over.
        await there?.index.apply(
          written.map((entry) => toIndexed(tenant, entry, there.model)),
          null,
        );
      } catch (err) {
        log.warn({ err, errorKind: 'dependency', hint: 'it is followed in a moment' }, 'a memory is not in the index yet');
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

/** Waits no longer than whoever asks. */
async function until<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const leave = (): void => reject(new ServiceError('CANCELLED', 'nobody waits for it any more', { cause: signal.reason }));
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
