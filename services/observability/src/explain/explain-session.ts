import type { Result } from '@switchyard/contracts';
import type { RecordDocument } from '../documents/collections.ts';
import { addAll } from '../billing/usage-sums.ts';
import { toUsd } from '../billing/pico.ts';
import { findRootCause } from './root-cause.ts';
import { readToolHistory, type ToolHistory, type ToolStats } from './session-evidence.ts';
import { getOutcome } from './turn-outcome.ts';

type Report = Result<'obs.explain'>;

export interface ExplainOptions {
  sessionKey: string | null;
  traceId: string | null;
  /** Older turns that were not read. */
  unreadTurns: number;
}

/**
 * Explains a session from its records, oldest first. The explained turn is the newest one that ended badly, or the newest turn. The report
 * depends on the records alone, so that the same session always gives the same bytes.
 */
export function explainSession(records: readonly RecordDocument[], { sessionKey, traceId, unreadTurns }: ExplainOptions): Report {
  const record = records.findLast((one) => getOutcome(one).degraded) ?? records.at(-1);
  if (record === undefined) return explainNothing({ sessionKey, traceId });
  const history = readToolHistory(records);
  const outcome = getOutcome(record);
  const tools = selectTurn(history, record.traceId);
  const likelyRootCause = findRootCause({ record, outcome, tools });
  const { input, output, cacheRead, costPico } = addAll(records.flatMap(({ sums }) => sums));
  const { agentId, channelId } = record;
  return {
    schemaVersion: 1,
    sessionKey: record.sessionKey ?? sessionKey,
    traceId: record.traceId ?? traceId,
    agentId,
    channel: channelId === undefined ? null : { type: channelId.split(':', 1)[0] ?? channelId, id: channelId },
    outcome,
    cost: {
      costUsd: toUsd(BigInt(costPico)),
      totalTokens: input + output,
      cacheReadRatio: input === 0 ? 0 : Math.min(1, cacheRead / input),
    },
    timing: { durationMs: records.reduce((sum, { durationMs }) => sum + durationMs, 0), turnCount: records.length },
    toolStats: history.stats,
    failures: history.failures.toReversed().map(({ reason: _reason, traceId: _traceId, ...failure }) => failure),
    breakerTimeline: history.breaker.map(({ traceId: _traceId, ...event }) => event),
    offloads: history.offloads.map(({ traceId: _traceId, ...offload }) => offload),
    waterfall: buildWaterfall(record),
    ...getContextBudget(record),
    summary: summarize(records, { record, history, endReason: outcome.endReason }),
    likelyRootCause,
    suggestedNextSteps: likelyRootCause?.suggestedNextSteps ?? [],
    truncations: listTruncations(record, unreadTurns),
    coverage: getCoverage(records, history),
  };
}

/** An unknown session, or one of another tenant. */
function explainNothing({ sessionKey, traceId }: Pick<ExplainOptions, 'sessionKey' | 'traceId'>): Report {
  return {
    schemaVersion: 1,
    sessionKey,
    traceId,
    agentId: null,
    channel: null,
    outcome: { endReason: 'unknown', degraded: false, severity: 'ok' },
    cost: { costUsd: 0, totalTokens: 0, cacheReadRatio: 0 },
    timing: { durationMs: 0, turnCount: 0 },
    toolStats: {},
    failures: [],
    breakerTimeline: [],
    offloads: [],
    summary: 'no turns are recorded for this session',
    likelyRootCause: null,
    suggestedNextSteps: [],
    truncations: [],
    coverage: {
      trajectory: { found: false, records: 0 },
      rollup: { present: false },
      offloads: { pointersResolved: 0, pointersTotal: 0 },
      toolStats: { reconciled: true, rollupSource: 'last-execution', divergentTools: [] },
    },
  };
}

function selectTurn({ failures, breaker, offloads, ...history }: ToolHistory, turnId: string | undefined): ToolHistory {
  const isOfTurn = ({ traceId }: { traceId: string | undefined }): boolean => traceId === turnId;
  return { ...history, failures: failures.filter(isOfTurn), breaker: breaker.filter(isOfTurn), offloads: offloads.filter(isOfTurn) };
}

function buildWaterfall({ evidence, model: last }: RecordDocument): NonNullable<Report['waterfall']> {
  return (evidence?.steps ?? []).map(
    ({ step, at, ms, firstMs, input, output, costUsd, model = last, fallback, calls, retries, budget, tools = [] }) => ({
      step,
      ...(at === undefined ? {} : { startMs: Math.round(at) }),
      durationMs: Math.round(ms),
      ...(firstMs === undefined ? {} : { firstTokenMs: Math.round(firstMs) }),
      ...(model === undefined ? {} : { model }),
      ...(fallback === undefined ? {} : { fallback }),
      ...(calls === undefined ? {} : { calls }),
      ...(retries === undefined ? {} : { retries }),
      ...(input === undefined ? {} : { inputTokens: input }),
      ...(output === undefined ? {} : { outputTokens: output }),
      ...(costUsd === undefined ? {} : { costUsd }),
      ...(budget === undefined ? {} : { budget }),
      tools: tools.map(({ name, ms: toolMs, failed }) => ({
        name,
        ...(toolMs === undefined ? {} : { durationMs: Math.round(toolMs) }),
        ...(failed === undefined ? {} : { failed }),
      })),
    }),
  );
}

function getContextBudget(record: RecordDocument): Pick<Report, 'contextBudget'> {
  const window = record.evidence?.window;
  if (window === undefined || record.finishReason !== 'context_exhausted') return {};
  const { tokens, used, system, messages, reserved, fits } = window;
  return {
    contextBudget: {
      windowTokens: tokens,
      rawContextWindowTokens: tokens,
      windowCapSource: 'none',
      systemTokens: system,
      freshTailTokens: Math.max(0, used - system),
      budgetedHistoryTokens: Math.max(0, tokens - system - reserved),
      keptCount: messages,
      assembledInputTokens: used,
      outputHeadroom: tokens - used,
      verdict: fits ? 'fits' : 'exhausted',
    },
  };
}

interface SummaryFacts {
  record: RecordDocument;
  history: ToolHistory;
  endReason: string;
}

function summarize(records: readonly RecordDocument[], { record, history, endReason }: SummaryFacts): string {
  const failures = `${history.failures.length} tool ${history.failures.length === 1 ? 'failure' : 'failures'}`;
  const turns = `${records.length} ${records.length === 1 ? 'turn' : 'turns'}`;
  const later = records.length - 1 - records.indexOf(record);
  const since = later === 0 ? '' : `; ${later} later ${later === 1 ? 'turn' : 'turns'} ended well`;
  const unknown = record.sums.reduce((sum, { unknownCalls }) => sum + unknownCalls, 0);
  const calls = unknown === 0 ? '' : `; ${unknown} model calls of unknown usage`;
  return `${failures} across ${turns}; endReason=${endReason}${since}${calls}`;
}

function listTruncations({ evidence }: RecordDocument, unreadTurns: number): Report['truncations'] {
  const { dropped = 0, before = 0 } = evidence ?? {};
  const moreTools = evidence?.steps.reduce((sum, step) => sum + (step.moreTools ?? 0), 0) ?? 0;
  return [
    ...(unreadTurns > 0 ? [{ field: 'turns', reason: `${unreadTurns} older turns were not read` }] : []),
    ...(dropped > 0 ? [{ field: 'waterfall', reason: `${dropped} steps are beyond what evidence keeps` }] : []),
    ...(before > 0 ? [{ field: 'waterfall', reason: `${before} steps of an earlier run are not recorded` }] : []),
    ...(moreTools > 0 ? [{ field: 'toolStats', reason: `${moreTools} tool calls are beyond what evidence keeps` }] : []),
  ];
}

/** The rollup is what the last execution counted; it never exceeds what all steps together count. */
function getCoverage(records: readonly RecordDocument[], { records: found, offloads, stats }: ToolHistory): Report['coverage'] {
  const rollup = readToolHistory(records.slice(-1)).stats;
  const divergentTools = Object.entries(rollup).flatMap(([tool, counts]) =>
    exceeds(counts, stats[tool]) ? [toDivergent(tool, counts, stats[tool])] : [],
  );
  return {
    trajectory: { found: true, records: found },
    rollup: { present: true },
    offloads: { pointersResolved: offloads.length, pointersTotal: offloads.length },
    toolStats: { reconciled: divergentTools.length === 0, rollupSource: 'last-execution', divergentTools },
  };
}

function exceeds({ ok, failed }: ToolStats[string], total: ToolStats[string] | undefined): boolean {
  return total === undefined || ok > total.ok || failed > total.failed;
}

function toDivergent(tool: string, { ok, failed }: ToolStats[string], total: ToolStats[string] | undefined) {
  return { tool, rollup: { ok, failed }, trajectory: { ok: total?.ok ?? 0, failed: total?.failed ?? 0 } };
}
