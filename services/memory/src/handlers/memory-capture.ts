import { createHash } from 'node:crypto';
import { ServiceError, TrustLevel, type Input } from '@switchyard/contracts';
import type { Ctx, Handler } from '@switchyard/bus';
import type { EntryDocument } from '../documents/collections.ts';
import { deleteEntry } from '../entries/delete-entries.ts';
import { storeEntry } from '../entries/store-entry.ts';
import type { HandlerDeps } from './handler-deps.ts';

type CapturedTurn = Input<'memory.capture'>['captured'][number];

/** Stores captured turns, each once. Rejected texts are skipped and reported in an event. */
export function memoryCapture(deps: HandlerDeps): Handler<'memory.capture'> {
  return async ({ captured }, ctx) => {
    const written = (await Promise.all(captured.map((one) => storeCaptured(deps, one, ctx)))).filter((entry) => entry !== undefined);
    if (written.length > 0) await deps.index.note(ctx.principal.tenant, written);
    if (captured.every(({ unlessAlike }) => unlessAlike === undefined)) return { stored: written.length };
    let stored = 0;
    // Sequentially, so that one of two similar texts stays.
    for (const entry of written) if (!(await deleteIfSimilar(deps, ctx, entry, captured))) stored += 1;
    return { stored };
  };
}

async function storeCaptured(deps: HandlerDeps, captured: CapturedTurn, ctx: Ctx): Promise<EntryDocument | undefined> {
  const { turnId, agentId, sessionKey, content, memoryType, outside, sourceType } = captured;
  const { client } = ctx.principal;
  try {
    return await storeEntry(
      deps,
      {
        id: deriveEntryId(turnId),
        agentId,
        userId: client,
        owner: client,
        content,
        memoryType,
        trustLevel: outside ? 'external' : 'learned',
        who: client,
        sessionKey,
        sourceType,
        taintLevel: outside ? 'wrapped' : 'clean',
        tags: ['conversation'],
      },
      ctx,
    );
  } catch (error) {
    if (error instanceof ServiceError && error.details.reason === 'MEMORY_REFUSED') return undefined;
    throw error;
  }
}

/**
 * Deletes a captured memory that is similar to an existing one. The comparison needs the index, so the entry is stored first; after a
 * crash in between a review merges both.
 */
async function deleteIfSimilar(
  { entries, store, index }: HandlerDeps,
  ctx: Ctx,
  entry: EntryDocument,
  captured: readonly CapturedTurn[],
): Promise<boolean> {
  const { tenant } = ctx.principal;
  const minCosine = captured.find(({ turnId }) => deriveEntryId(turnId) === entry.id)?.unlessAlike;
  const found = minCosine === undefined ? undefined : await index.get(ctx.signal);
  if (minCosine === undefined || !found) return false;
  const { agentId: group, id } = entry;
  const similar = await found.findSimilar({
    tenant,
    group,
    id,
    now: store.now(),
    trust: [...TrustLevel.options],
    minCosine,
    limit: MAX_SIMILAR,
  });
  const others = similar.filter((one) => one !== id);
  if (others.length === 0) return false;
  // The index may lag behind.
  const { items } = await entries.for(ctx.principal).find({ id: { in: others }, deletedAt: null }, { limit: MAX_SIMILAR });
  if (items.length === 0) return false;
  const deleted = await deleteEntry(entries.for(ctx.principal), { id, now: store.now() });
  if (deleted) await index.note(tenant, [deleted]);
  return deleted !== null;
}

const MAX_SIMILAR = 5;

/** Derives a UUID from the turn id. */
function deriveEntryId(turnId: string): string {
  const hex = createHash('sha256').update(`turn ${turnId}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-');
}
