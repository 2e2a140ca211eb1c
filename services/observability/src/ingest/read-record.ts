import { z } from 'zod';
import { contracts, MEDIA_USAGE, type EventPayload, type ModelTurnUsage, type TurnUsage } from '@switchyard/contracts';
import type { ModelSum, RecordDocument } from '../documents/collections.ts';
import { toPico } from '../billing/pico.ts';
import { addAll, emptySum } from '../billing/usage-sums.ts';
import { describeError, getChannel, isSynthetic } from './record-fields.ts';
import type { PriceList } from './price-list.ts';

/** The position of an event in the log, and the expiry of its row. */
export interface LogPlace {
  log: string;
  seq: number;
  at: number;
  expiresAt: number;
}

/**
 * Reads the records from `turn:ended` or an event with the usage of single calls. Returns undefined for other events, null for a payload
 * that breaks its contract.
 */
export function readRecords(name: string, payload: unknown, place: LogPlace, prices: PriceList): RecordDocument[] | undefined | null {
  if (name === 'turn:ended') {
    const parsed = contracts.sessions.events['turn:ended'].payload.safeParse(payload);
    return parsed.success ? [fromTurn(parsed.data, place, prices)] : null;
  }
  const usage = USAGE_PAYLOADS.get(name)?.safeParse(payload);
  if (usage === undefined) return undefined;
  return usage.success ? usage.data.records.map((record) => fromUsage(record, place, prices)) : null;
}

type UsagePayload = EventPayload<'usage:recorded'> | EventPayload<typeof MEDIA_USAGE>;
type UsageRecord = UsagePayload['records'][number];

/** The events with the usage of single provider calls. */
const USAGE_PAYLOADS = new Map<string, z.ZodType<UsagePayload>>([
  ['usage:recorded', acceptSingleRecord(contracts.sessions.events['usage:recorded'].payload)],
  [MEDIA_USAGE, acceptSingleRecord(contracts.media.events[MEDIA_USAGE].payload)],
]);

/** Events of earlier versions, which the log may contain, consist of one record. */
function acceptSingleRecord<P extends UsagePayload>(payload: z.ZodType<P>): z.ZodType<P> {
  return z.preprocess((value) => (typeof value === 'object' && value !== null && 'id' in value ? { records: [value] } : value), payload);
}

function fromTurn(turn: EventPayload<'turn:ended'>, place: LogPlace, prices: PriceList): RecordDocument {
  const { turnId, sessionKey, agentId, client, kind, origin, state, finishReason, failure, usage, evidence } = turn;
  const lastError = describeError(turn);
  const channelId = getChannel(sessionKey);
  return {
    recordId: turnId,
    ...place,
    event: 'turn_completed',
    traceId: turnId,
    sessionKey,
    agentId,
    client,
    channelId,
    ...(kind === undefined ? {} : { kind }),
    ...(origin === undefined ? {} : { origin }),
    ...(isSynthetic(channelId) ? { synthetic: true as const } : {}),
    state,
    ...(finishReason === undefined ? {} : { finishReason }),
    ...(failure === undefined ? {} : { failureCode: failure.code }),
    ...(failure?.reason === undefined ? {} : { failureReason: failure.reason }),
    ...(failure?.rejected === undefined ? {} : { rejected: failure.rejected }),
    ...(failure?.status === undefined ? {} : { providerStatus: failure.status }),
    ...(lastError === undefined ? {} : { lastError }),
    ...(evidence?.model === undefined ? {} : { model: evidence.model }),
    steps: turn.steps,
    attempts: turn.attempts ?? 1,
    durationMs: Math.max(0, turn.finishedAt - (turn.startedAt ?? turn.createdAt)),
    createdAt: turn.createdAt,
    finishedAt: turn.finishedAt,
    ...readUsage(usage, prices, evidence?.model),
    ...(evidence === undefined ? {} : { evidence }),
  };
}

function fromUsage(record: UsageRecord, place: LogPlace, prices: PriceList): RecordDocument {
  const { id, agentId, client, model, turnId, outcome, usage, finishedAt } = record;
  return {
    recordId: id,
    ...place,
    event: 'usage_recorded',
    ...(turnId === undefined ? {} : { traceId: turnId }),
    agentId,
    ...(client === undefined ? {} : { client }),
    state: outcome,
    model,
    steps: 0,
    attempts: 1,
    durationMs: 0,
    finishedAt,
    ...readUsage(usage, prices, model),
  };
}

/** Splits usage by model. The rest belongs to the requested model, or to none if that is unknown. */
function readUsage(
  usage: TurnUsage,
  prices: PriceList,
  requested: string | undefined,
): Pick<RecordDocument, 'calls' | 'tokens' | 'costUsd' | 'sums'> {
  const byModel = (usage.models ?? []).map((one) => toSum(one, prices));
  const rest = subtract(usage, usage.models ?? []);
  const sums = rest.calls === 0 ? byModel : [...byModel, toSum({ ...rest, model: requested ?? '' }, prices)];
  return { calls: usage.calls, tokens: usage.input + usage.output, costUsd: usage.costUsd, sums: merge(sums) };
}

function toSum(usage: ModelTurnUsage, prices: PriceList): ModelSum {
  const { model, calls, unknownCalls, input, output, cacheRead, cacheWrite, costUsd } = usage;
  const { savedPico, unpriced } = prices.value(usage);
  const unpricedCalls = unpriced ? calls - unknownCalls : 0;
  const tokens = { input, output, cacheRead, cacheWrite };
  return { model, calls, unknownCalls, unpricedCalls, ...tokens, costPico: String(toPico(costUsd)), savedPico: String(savedPico) };
}

function subtract(total: TurnUsage, parts: readonly ModelTurnUsage[]): Omit<ModelTurnUsage, 'model'> {
  const less = (field: 'calls' | 'unknownCalls' | 'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'costUsd'): number =>
    Math.max(
      0,
      parts.reduce((left, part) => left - part[field], total[field]),
    );
  return {
    calls: less('calls'),
    unknownCalls: less('unknownCalls'),
    input: less('input'),
    output: less('output'),
    cacheRead: less('cacheRead'),
    cacheWrite: less('cacheWrite'),
    costUsd: parts.length === 0 ? total.costUsd : 0,
  };
}

function merge(sums: readonly ModelSum[]): ModelSum[] {
  const models = [...new Set(sums.map(({ model }) => model))];
  return models.map((model) => ({ ...emptySum(model), ...addAll(sums.filter((sum) => sum.model === model)), model }));
}
