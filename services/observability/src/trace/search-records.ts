import type { Input, Principal } from '@switchyard/contracts';
import type { Collection, Filter } from '@switchyard/store';
import type { RecordDocument } from '../documents/collections.ts';
import { addAll } from '../billing/usage-sums.ts';
import { parseWhere } from './parse-where.ts';

const DAY_MS = 86_400_000;
/** The window without `since`. */
const DEFAULT_WINDOW_MS = 2 * DAY_MS;
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS } as const;

export interface SearchDeps {
  records: Collection<RecordDocument>;
  now: () => number;
}

type SearchParams = Input<'obs.trace.search'>;

/** Returns the newest records that match. The store evaluates all conditions, so that no row is read in vain. */
export async function searchRecords(
  { records, now }: SearchDeps,
  caller: Pick<Principal, 'tenant'>,
  { messageId, traceId, chatId, since, where, limit, includeSynthetic }: SearchParams,
): Promise<Record<string, unknown>[]> {
  const turnId = messageId === undefined ? traceId : toTurnId(messageId);
  if (turnId !== undefined && traceId !== undefined && turnId !== traceId) return [];
  const conditions = where === undefined ? {} : parseWhere(where);
  const filter: Filter<RecordDocument> = {
    ...conditions,
    at: { gte: Math.max(0, now() - (since === undefined ? DEFAULT_WINDOW_MS : parsePeriod(since))) },
    ...(turnId === undefined ? {} : { traceId: turnId }),
    ...(chatId === undefined ? {} : { channelId: chatId }),
    ...(includeSynthetic ? {} : { synthetic: null }),
  };
  const { items } = await records.for(caller).find(filter, { sort: [['at', 'desc']], limit });
  return items.map(toRow);
}

/** The messages of a turn have its id, followed by a number if they are answers. */
function toTurnId(messageId: string): string {
  return messageId.replace(/\/\d+$/, '');
}

function parsePeriod(since: string): number {
  return Number(since.slice(0, -1)) * UNIT_MS[since.slice(-1) as keyof typeof UNIT_MS];
}

function toRow(record: RecordDocument): Record<string, unknown> {
  const { at, event, traceId, sessionKey, agentId, client, channelId, state, model, sums, lastError = null } = record;
  const { input, output } = addAll(sums);
  return {
    event,
    ts: new Date(at).toISOString(),
    traceId,
    ...(traceId === undefined ? {} : { messageId: traceId }),
    ...(sessionKey === undefined ? {} : { sessionKey }),
    agentId,
    ...(client === undefined ? {} : { client }),
    ...(channelId === undefined ? {} : { channelId, chatId: channelId }),
    source: record.synthetic ? 'test' : 'runtime',
    ...(record.synthetic ? { synthetic: true } : {}),
    state,
    ...(record.finishReason === undefined ? {} : { finishReason: record.finishReason }),
    ...(model === undefined ? {} : { model }),
    durationMs: record.durationMs,
    steps: record.steps,
    inputTokens: input,
    outputTokens: output,
    costUsd: record.costUsd,
    lastError,
  };
}
