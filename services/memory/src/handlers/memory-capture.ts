import { createHash } from 'node:crypto';
import { ServiceError, TrustLevel, type Input } from '@switchyard/contracts';
import type { Ctx, Handler } from '@switchyard/bus';
import type { EntryDocument } from '../documents/collections.ts';
import { forget } from '../entries/delete-entries.ts';
import { remember } from '../entries/store-entry.ts';
import type { Given } from './handler-deps.ts';

type Captured = Input<'memory.capture'>['captured'][number];

/** Stores captured turns, each once. Rejected texts are skipped and reported in an event. */
export function memoryCapture(given: Given): Handler<'memory.capture'> {
  return async ({ captured }, ctx) => {
    const kept = (await Promise.all(captured.map((one) => keep(given, one, ctx)))).filter((entry) => entry !== undefined);
    if (kept.length > 0) await given.index.note(ctx.principal.tenant, kept);
    if (captured.every(({ unlessAlike }) => unlessAlike === undefined)) return { stored: kept.length };
    let stored = 0;
    // Sequentially, so that one of two similar texts stays.
    for (const entry of kept) if (!(await leaveOut(given, ctx, entry, captured))) stored += 1;
    return { stored };
  };
}

async function keep(given: Given, captured: Captured, ctx: Ctx): Promise<EntryDocument | undefined> {
  const { turnId, agentId, sessionKey, content, memoryType, outside, sourceType } = captured;
  const { client } = ctx.principal;
  try {
    return await remember(
      given,
      {
        id: idOf(turnId),
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
async function leaveOut({ entries, store, index }: Given, ctx: Ctx, entry: EntryDocument, captured: readonly Captured[]): Promise<boolean> {
  const { tenant } = ctx.principal;
  const least = captured.find(({ turnId }) => idOf(turnId) === entry.id)?.unlessAlike;
  const found = least === undefined ? undefined : await index.get(ctx.signal);
  if (least === undefined || !found) return false;
  const { agentId: group, id } = entry;
  const alike = await found.findSimilar({
    tenant,
    group,
    id,
    now: store.now(),
    trust: [...TrustLevel.options],
    minCosine: least,
    limit: MOST_ALIKE,
  });
  const others = alike.filter((one) => one !== id);
  if (others.length === 0) return false;
  // The index may lag behind.
  const { items } = await entries.for(ctx.principal).find({ id: { in: others }, goneAt: null }, { limit: MOST_ALIKE });
  if (items.length === 0) return false;
  const gone = await forget(entries.for(ctx.principal), { id, now: store.now() });
  if (gone) await index.note(tenant, [gone]);
  return gone !== null;
}

const MOST_ALIKE = 5;

/** Derives a UUID from the turn id. */
function idOf(turnId: string): string {
  const hex = createHash('sha256').update(`turn ${turnId}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-');
}
