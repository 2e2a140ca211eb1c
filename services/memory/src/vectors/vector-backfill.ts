import { ServiceError, servicePrincipal } from '@switchyard/contracts';
import { atIntervals, type Clock, type Settings } from '@switchyard/service-kit';
import type { Collection, Store, VectorModel } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { EntryDocument } from '../documents/collections.ts';
import type { MemoryIndex } from '../index/memory-index.ts';
import { releaseLeases, findMissing, groupByAgent, postpone, leaseEntries, LEASE_FIELDS, type TenantEntry } from './missing-vectors.ts';
import { isRefusal, getBudgetRetryMs, type VectorMaker } from './vector-maker.ts';

export interface BackfillDeps {
  entries: Collection<EntryDocument>;
  store: Pick<Store, 'now'>;
  index: MemoryIndex;
  maker: VectorMaker;
  settings: Settings<'embedding'>;
  log: Logger;
  clock: Clock;
  replica: string;
  /** Interval of the poll for entries without a vector. */
  pollMs: number;
}

const BATCH_TIMEOUT_MS = 60_000;

/**
 * Embeds entries in the background: new entries, and all entries after a change of the model. Vectors are stored in the documents, so
 * that an index is rebuilt without the provider. A replica leases an entry before it sends it, so that it is paid for once; the lease
 * of a crashed replica expires after two minutes.
 */
export function startVectorBackfill(deps: BackfillDeps): AsyncDisposable {
  const { maker, log, clock, pollMs, settings } = deps;
  const startedAt = deps.store.now();
  let isFirstPoll = true;
  const onFailure = (err: unknown): void => {
    log.warn({ err, errorKind: 'dependency', hint: 'they are found by words until then' }, 'failed to embed memories; retrying');
  };
  return atIntervals({ clock, ms: pollMs, failed: onFailure }, async (closed) => {
    for (let more = true; more && !closed();) {
      const model = maker.model();
      if (model === undefined || maker.breaker() === 'open') return;
      const matches = await findMissing(deps, { model, startedAt, isFirstPoll });
      isFirstPoll = false;
      const leased = await leaseEntries(deps, matches);
      await embedGroups(deps, groupByAgent(leased), model);
      more = leased.length > 0 && matches.length >= settings.current.embedding.batch.batchSize;
    }
  });
}

/** Embeds group by group. After a failure the leases of the other groups are released. */
async function embedGroups(deps: BackfillDeps, groups: readonly TenantEntry[][], model: VectorModel): Promise<void> {
  for (const [at, entries] of groups.entries()) {
    try {
      await embedGroup(deps, { entries, model });
    } catch (error) {
      await releaseLeases(deps, groups.slice(at + 1).flat());
      throw error;
    }
  }
}

interface Batch {
  /** Entries of one agent. */
  entries: readonly TenantEntry[];
  model: VectorModel;
}

async function embedGroup(deps: BackfillDeps, { entries, model }: Batch): Promise<void> {
  const [firstEntry] = entries;
  if (!firstEntry) return;
  const { tenant, agentId } = firstEntry;
  try {
    const texts = entries.map(({ content }) => content);
    const vectors = await deps.maker.make(texts, { principal: servicePrincipal('memory', tenant), agentId, timeoutMs: BATCH_TIMEOUT_MS });
    await storeVectors(deps, { entries, model }, vectors);
  } catch (error) {
    if (isRefusal(error) && entries.length > 1) {
      // The provider rejected one of the texts, so each text is embedded in a request of its own.
      for (const entry of entries) await embedGroup(deps, { entries: [entry], model });
      return;
    }
    if (isRefusal(error)) return storeVectors(deps, { entries, model }, [undefined]);
    const retryAfterMs = getBudgetRetryMs(error);
    if (retryAfterMs !== undefined) return postponeForBudget(deps, entries, retryAfterMs);
    await releaseLeases(deps, entries);
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return;
    throw error;
  }
}

async function postponeForBudget(deps: BackfillDeps, entries: readonly TenantEntry[], ms: number): Promise<void> {
  await postpone(deps, entries, ms);
  const [firstEntry] = entries;
  deps.log.info(
    { tenant: firstEntry?.tenant, agentId: firstEntry?.agentId, memories: entries.length, hint: 'they are found by words until then' },
    'postponed embedding of memories: the budget of their agent is used up',
  );
}

/** Stores vectors. A rejected text is stored with the model and without a vector, so that it is not sent again. */
async function storeVectors(
  { entries: all, store, index }: BackfillDeps,
  { entries, model }: Batch,
  vectors: readonly (Int8Array | undefined)[],
) {
  const tenant = entries[0]?.tenant ?? '';
  const updated = await Promise.all(
    entries.map(({ id, changedAt }, at) => {
      const vector = vectors[at];
      const encoded =
        vector?.length === model.dimensions
          ? { vector: Buffer.from(vector.buffer, vector.byteOffset, vector.length).toString('base64') }
          : {};
      const unset = [...LEASE_FIELDS, ...('vector' in encoded ? [] : (['vector'] as const))];
      const set = { ...encoded, vectorModel: model.name, changedAt: Math.max(store.now(), changedAt + 1) };
      return all.for({ tenant }).update({ id, deletedAt: null }, { set, unset });
    }),
  );
  await index.note(
    tenant,
    updated.filter((entry) => entry !== null),
  );
}
