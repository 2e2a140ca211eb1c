import { randomInt } from 'node:crypto';
import { ServiceError, type Principal } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { RunDocument } from '../documents/collections.ts';

/** Runs of one tenant that have not ended. */
const MAX_LIVE_RUNS = 100;
/** Writes until a call gives up, if other calls take each slot that it finds. */
const MAX_ATTEMPTS = 50;

export interface LiveSlotDeps {
  runs: Collection<RunDocument>;
}

/**
 * Calls `write` with a free slot of the tenant, and with another one if a concurrent call has taken it. A slot is unique in the database
 * and belongs to its run until the end, so that the limit holds on all replicas. Throws RESOURCE_EXHAUSTED if no slot is free.
 */
export async function writeWithSlot<T>(
  { runs }: LiveSlotDeps,
  principal: Pick<Principal, 'tenant'>,
  write: (liveSlot: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const slot = await findFreeSlot({ runs }, principal);
    if (slot === undefined) break;
    try {
      return await write(slot);
    } catch (error) {
      if (!isSlotTaken(error)) throw error;
    }
  }
  throw tooManyRuns();
}

/** Returns a random free slot, which concurrent calls rarely choose too. Counts halves, because the documents of all runs are large. */
async function findFreeSlot({ runs }: LiveSlotDeps, principal: Pick<Principal, 'tenant'>): Promise<number | undefined> {
  const own = runs.for(principal);
  const countFree = async (from: number, to: number): Promise<number> => to - from - (await own.count({ liveSlot: { gte: from, lt: to } }));
  let [from, to] = [0, MAX_LIVE_RUNS];
  let free = await countFree(from, to);
  while (free > 0 && to - from > 1) {
    const middle = Math.floor((from + to) / 2);
    const freeBelow = await countFree(from, middle);
    if (randomInt(free) < freeBelow) [to, free] = [middle, freeBelow];
    else [from, free] = [middle, free - freeBelow];
  }
  return free > 0 ? from : undefined;
}

function isSlotTaken(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  return error.code === 'ALREADY_EXISTS' || (error.code === 'ABORTED' && error.details.reason === 'UNIQUE_SET_TAKEN');
}

function tooManyRuns(): ServiceError {
  const message = `Too many active graphs: ${MAX_LIVE_RUNS} runs have not ended. Wait for one, or cancel one with graph.cancel.`;
  return new ServiceError('RESOURCE_EXHAUSTED', message, { details: { reason: 'MAX_GRAPHS', retryable: true } });
}
