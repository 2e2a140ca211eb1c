import { createHash } from 'node:crypto';
import { ServiceError, type Input } from '@switchyard/contracts';
import type { Ctx, Handler } from '@switchyard/bus';
import type { EntryDocument } from '../data.ts';
import { remember } from '../entries/remember.ts';
import type { Given } from './given.ts';

type Captured = Input<'memory.capture'>['captured'][number];

/** Keeps each once, however often it is told. What may not be remembered is left out, and said in an event. */
export function memoryCapture(given: Given): Handler<'memory.capture'> {
  return async ({ captured }, ctx) => {
    const kept = (await Promise.all(captured.map((one) => keep(given, one, ctx)))).filter((entry) => entry !== undefined);
    if (kept.length > 0) await given.index.note(ctx.principal.tenant, kept);
    return { stored: kept.length };
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

/** The same for the same turn, in the form of every other id. */
function idOf(turnId: string): string {
  const hex = createHash('sha256').update(`turn ${turnId}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-');
}
