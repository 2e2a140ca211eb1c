import { ServiceError, servicePrincipal } from '@switchyard/contracts';
import { atIntervals, type Clock, type Settings } from '@switchyard/service-kit';
import type { Collection, Store, VectorModel } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { EntryDocument } from '../documents/collections.ts';
import type { MemoryIndex } from '../index/memory-index.ts';
import { giveBack, lacking, ofEachAgent, rest, take, TAKEN, type Found } from './missing-vectors.ts';
import { isRefusal, spentFor, type VectorMaker } from './vector-maker.ts';

export interface FillDeps {
  entries: Collection<EntryDocument>;
  store: Pick<Store, 'now'>;
  index: MemoryIndex;
  maker: VectorMaker;
  settings: Settings<'embedding'>;
  log: Logger;
  clock: Clock;
  replica: string;
  /** Interval of the poll for entries without a vector. */
  lookMs: number;
}

const BATCH_MS = 60_000;

/**
 * Embeds entries in the background: new entries, and all entries after a change of the model. Vectors are stored in the documents, so
 * that an index is rebuilt without the provider. A replica leases an entry before it sends it, so that it is paid for once; the lease
 * of a crashed replica expires after two minutes.
 */
export function startFilling(deps: FillDeps): AsyncDisposable {
  const { maker, log, clock, lookMs, settings } = deps;
  const startedAt = deps.store.now();
  let first = true;
  const failed = (err: unknown): void => {
    log.warn({ err, errorKind: 'dependency', hint: 'they are found by words until then' }, 'failed to embed memories; retrying');
  };
  return atIntervals({ clock, ms: lookMs, failed }, async (closed) => {
    for (let more = true; more && !closed();) {
      const model = maker.model();
      if (model === undefined || maker.breaker() === 'open') return;
      const found = await lacking(deps, { model, startedAt, first });
      first = false;
      const taken = await take(deps, found);
      await fillEach(deps, ofEachAgent(taken), model);
      more = taken.length > 0 && found.length >= settings.current.embedding.batch.batchSize;
    }
  });
}

/** Embeds group by group. After a failure the leases of the other groups are released. */
async function fillEach(deps: FillDeps, groups: readonly Found[][], model: VectorModel): Promise<void> {
  for (const [at, entries] of groups.entries()) {
    try {
      await fill(deps, { entries, model });
    } catch (error) {
      await giveBack(deps, groups.slice(at + 1).flat());
      throw error;
    }
  }
}

interface Batch {
  /** Entries of one agent. */
  entries: readonly Found[];
  model: VectorModel;
}

async function fill(deps: FillDeps, { entries, model }: Batch): Promise<void> {
  const [one] = entries;
  if (!one) return;
  const { tenant, agentId } = one;
  try {
    const texts = entries.map(({ content }) => content);
    const vectors = await deps.maker.make(texts, { principal: servicePrincipal('memory', tenant), agentId, timeoutMs: BATCH_MS });
    await keep(deps, { entries, model }, vectors);
  } catch (error) {
    if (isRefusal(error) && entries.length > 1) {
      // The provider rejected one of the texts, so each text is embedded in a request of its own.
      for (const entry of entries) await fill(deps, { entries: [entry], model });
      return;
    }
    if (isRefusal(error)) return keep(deps, { entries, model }, [undefined]);
    const spent = spentFor(error);
    if (spent !== undefined) return restUntilThen(deps, entries, spent);
    await giveBack(deps, entries);
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return;
    throw error;
  }
}

async function restUntilThen(deps: FillDeps, entries: readonly Found[], ms: number): Promise<void> {
  await rest(deps, entries, ms);
  const [one] = entries;
  deps.log.info(
    { tenant: one?.tenant, agentId: one?.agentId, memories: entries.length, hint: 'they are found by words until then' },
    'postponed embedding of memories: the budget of their agent is used up',
  );
}

/** Stores vectors. A rejected text is stored with the model and without a vector, so that it is not sent again. */
async function keep({ entries: all, store, index }: FillDeps, { entries, model }: Batch, vectors: readonly (Int8Array | undefined)[]) {
  const tenant = entries[0]?.tenant ?? '';
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
