import { ServiceError, servicePrincipal } from '@switchyard/contracts';
import type { Clock, Settings } from '@switchyard/service-kit';
import type { Collection, Store, VectorModel } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { EntryDocument } from '../data.ts';
import type { MemoryIndex } from '../index/memory-index.ts';
import { isRefusal, type VectorMaker } from './vector-maker.ts';

export interface FillDeps {
  entries: Collection<EntryDocument>;
  store: Pick<Store, 'now'>;
  index: MemoryIndex;
  maker: VectorMaker;
  settings: Settings<'embedding'>;
  log: Logger;
  clock: Clock;
  replica: string;
  /** How often is looked for entries without a vector. */
  lookMs: number;
}

type Found = EntryDocument & { tenant: string };

const BATCH_MS = 60_000;
/** Longer than a batch: whoever has taken an entry and is still there is not overtaken. */
const TAKEN_MS = 2 * BATCH_MS;
const TAKEN = ['takenBy', 'takenUntil'] as const;

/**
 * Gives entries the vectors they lack, in the background: new ones, and, after the model was changed, all of them. The vector stands in
 * the document, so that every index is written anew without asking a provider again. An entry is taken before it is sent, so that no two
 * replicas pay for it; of one that died, it is free again after `TAKEN_MS`.
 */
export function startFilling(deps: FillDeps): AsyncDisposable {
  const { maker, log, clock, lookMs, settings } = deps;
  let [busy, closed] = [false, false];
  let filling: Promise<void> = Promise.resolve();

  async function look(): Promise<void> {
    for (let more = true; more && !closed;) {
      const model = maker.model();
      if (model === undefined || maker.breaker() === 'open') return;
      const found = await lacking(deps, model);
      const taken = await take(deps, found);
      for (const [tenant, some] of Object.entries(Object.groupBy(taken, ({ tenant }) => tenant)))
        await fill(deps, { tenant, entries: some ?? [], model });
      more = taken.length > 0 && found.length >= settings.current.embedding.batch.batchSize;
    }
  }

  const stop = clock.every(lookMs, () => {
    if (busy || closed) return;
    busy = true;
    filling = look()
      .catch((err: unknown) => {
        if (!closed)
          log.warn({ err, errorKind: 'dependency', hint: 'they are found by their words until then' }, 'memories have no vectors yet');
      })
      .finally(() => (busy = false));
  });
  return {
    async [Symbol.asyncDispose]() {
      closed = true;
      stop();
      await filling;
    },
  };
}

/** Entries without a vector of this model: those that never had one first. */
async function lacking({ entries, settings }: FillDeps, { name }: VectorModel): Promise<Found[]> {
  const { autoReindex, batch } = settings.current.embedding;
  const which = [{ vectorOf: null }, ...(autoReindex ? [{ vectorOf: { lt: name } }, { vectorOf: { gt: name } }] : [])];
  const found: Found[] = [];
  for (const filter of which) {
    const limit = batch.batchSize - found.length;
    if (limit > 0) found.push(...(await entries.system().find({ ...filter, goneAt: null }, { limit, sort: [['vectorOf', 'asc']] })).items);
  }
  return found;
}

/** Those that nobody else has taken. What stands under the own name is left from a life that ended: there is one batch at a time. */
async function take({ entries, store, replica }: FillDeps, found: readonly Found[]): Promise<Found[]> {
  const now = store.now();
  const free = found.filter(({ takenUntil = 0, takenBy }) => takenUntil <= now || takenBy === replica);
  const taken = await Promise.all(
    free.map(({ tenant, id, takenUntil = null }) =>
      entries.for({ tenant }).update({ id, goneAt: null, takenUntil }, { set: { takenBy: replica, takenUntil: now + TAKEN_MS } }),
    ),
  );
  return free.filter((_, at) => taken[at] !== null);
}

interface Batch {
  tenant: string;
  entries: readonly Found[];
  model: VectorModel;
}

async function fill(deps: FillDeps, { tenant, entries, model }: Batch): Promise<void> {
  const asking = { principal: servicePrincipal('memory', tenant), timeoutMs: BATCH_MS };
  try {
    const vectors = await deps.maker.make(
      entries.map(({ content }) => content),
      asking,
    );
    await keep(deps, { tenant, entries, model }, vectors);
  } catch (error) {
    if (isRefusal(error) && entries.length > 1) {
      // One of them is the reason: each is asked for by itself.
      for (const entry of entries) await fill(deps, { tenant, entries: [entry], model });
      return;
    }
    if (isRefusal(error)) return keep(deps, { tenant, entries, model }, [undefined]);
    await giveBack(deps, { tenant, entries });
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return;
    throw error;
  }
}

/** With its model even where there is none: what was refused is not asked for again. The index hears of it by the time of the change. */
async function keep(
  { entries: all, store, index }: FillDeps,
  { tenant, entries, model }: Batch,
  vectors: readonly (Int8Array | undefined)[],
) {
  const kept = await Promise.all(
    entries.map(({ id, changedAt }, at) => {
      const vector = vectors[at];
      const made =
        vector?.length === model.dimensions
          ? { vector: Buffer.from(vector.buffer, vector.byteOffset, vector.length).toString('base64') }
          : {};
      const unset = [...TAKEN, ...('vector' in made ? [] : (['vector'] as const))];
      const set = { ...made, vectorOf: model.name, changedAt: Math.max(store.now(), changedAt + 1) };
      return all.for({ tenant }).update({ id, goneAt: null }, { set, unset });
    }),
  );
  await index.note(
    tenant,
    kept.filter((entry) => entry !== null),
  );
}

async function giveBack({ entries: all }: FillDeps, { tenant, entries }: Omit<Batch, 'model'>): Promise<void> {
  await Promise.all(entries.map(({ id }) => all.for({ tenant }).update({ id, goneAt: null }, { unset: [...TAKEN] })));
}
