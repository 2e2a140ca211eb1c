import { z } from 'zod';
import { StepBudget } from '../sessions/evidence.ts';
import { AgentId, Count, DurationMs, Rate, SessionKey, Usd } from '../values/common.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** How often a tool did well and badly. */
export const ToolCounts = z.object({ ok: Count, failed: Count });
export const ToolStats = z
  .record(boundedString(MAX.name), ToolCounts.extend({ topErrorKind: boundedString(MAX.name).optional() }))
  .check(maxKeys(MAX.many))
  .describe('by tool');

export const RootCause = z.object({
  code: boundedString(MAX.name),
  detail: boundedString(MAX.line),
  suggestedNextSteps: z.array(boundedString(MAX.line)).max(MAX.many),
});

/** Omitted parts of a report, with the reason. */
export const Truncation = z.object({
  field: boundedString(MAX.name),
  reason: boundedString(MAX.line),
  pointer: boundedString(MAX.path).optional(),
});

const Failure = z.object({
  seq: Count,
  toolName: boundedString(MAX.name),
  classifiedFailureBy: boundedString(MAX.line),
  transportOk: z.boolean(),
  httpStatus: z.int().optional(),
  errorKind: boundedString(MAX.name),
  matchedToken: boundedString(MAX.line).optional(),
  resultDigest: z
    .string()
    .max(12)
    .regex(/^[0-9a-f]{12}$/),
  resultBytes: Count,
  errorPreview: z.string().max(200),
});

const ContextBudget = z.object({
  windowTokens: Count,
  rawContextWindowTokens: Count,
  windowCapSource: z.enum([
    'contextEngine.budget.effectiveContextCapSmall',
    'contextEngine.budget.effectiveContextCapNano',
    'served',
    'capabilityClass',
    'none',
  ]),
  systemTokens: Count,
  freshTailTokens: Count,
  budgetedHistoryTokens: Count,
  keptCount: Count,
  assembledInputTokens: Count,
  outputHeadroom: z.int(),
  verdict: z.enum(['fits', 'downshifted', 'exhausted']),
});

const WaterfallStep = z.object({
  step: Count,
  startMs: DurationMs.optional().describe('since the start of the run'),
  durationMs: DurationMs,
  firstTokenMs: DurationMs.optional(),
  model: boundedString(MAX.name).optional().describe('the model that answered'),
  fallback: z.literal(true).optional().describe('another model than the requested one answered'),
  calls: Count.optional().describe('model calls, if there were several'),
  retries: Count.optional().describe('repetitions of a call that did not reach the model'),
  inputTokens: Count.optional(),
  outputTokens: Count.optional(),
  costUsd: Usd.optional(),
  budget: StepBudget.optional().describe('budgets when the model was called'),
  tools: z
    .array(z.object({ name: boundedString(MAX.name), durationMs: DurationMs.optional(), failed: z.boolean().optional() }))
    .max(MAX.few),
});

const Coverage = z.object({
  trajectory: z.object({ found: z.boolean(), records: Count }),
  rollup: z.object({ present: z.boolean() }),
  offloads: z.object({ pointersResolved: Count, pointersTotal: Count }),
  toolStats: z.object({
    reconciled: z.boolean().describe('false if the rollup counts more than the trajectory'),
    rollupSource: z.literal('last-execution'),
    divergentTools: z.array(z.object({ tool: boundedString(MAX.name), rollup: ToolCounts, trajectory: ToolCounts })).max(MAX.all),
  }),
});

/** Explanation of a session from logged evidence. The same session always gives the same verdict. */
export const IncidentReport = z.object({
  schemaVersion: z.literal(1),
  sessionKey: SessionKey.nullable().describe('null if the trace has no session'),
  traceId: boundedString(MAX.id).nullable(),
  agentId: AgentId.nullable(),
  channel: z.object({ type: boundedString(MAX.name), id: boundedString(MAX.id) }).nullable(),
  outcome: z.object({
    endReason: boundedString(MAX.line).describe('completed, context_exhausted, output_starved, timeout, error, …'),
    degraded: z.boolean(),
    severity: z.enum(['ok', 'degraded', 'failed']),
  }),
  cost: z.object({ costUsd: Usd, totalTokens: Count, cacheReadRatio: Rate }),
  timing: z.object({ durationMs: DurationMs, turnCount: Count }),
  toolStats: ToolStats,
  failures: z.array(Failure).max(MAX.all).describe('newest first'),
  breakerTimeline: z
    .array(
      z.object({
        seq: Count,
        event: z.enum(['opened', 'reset']),
        toolName: boundedString(MAX.name),
        consecutiveFailures: Count.optional(),
      }),
    )
    .max(MAX.all),
  offloads: z
    .array(z.object({ seq: Count, toolName: boundedString(MAX.name), originalChars: Count, pointer: boundedString(MAX.path) }))
    .max(MAX.all),
  waterfall: z.array(WaterfallStep).max(MAX.few).optional().describe('steps of the explained turn, in order'),
  contextBudget: ContextBudget.optional().describe('for context_exhausted sessions with budget records; the last record applies'),
  summary: boundedString(MAX.text),
  likelyRootCause: RootCause.nullable(),
  suggestedNextSteps: z.array(boundedString(MAX.line)).max(MAX.many),
  truncations: z.array(Truncation).max(MAX.many),
  coverage: Coverage.optional(),
});

const advice = ['Raise agents.default.promptTimeout.promptTimeoutMs, or look at why web_fetch stalls.'];

export const incidentExample = {
  schemaVersion: 1,
  sessionKey: 'default:alice:gateway',
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  agentId: 'default',
  channel: { type: 'gateway', id: 'gateway' },
  outcome: { endReason: 'timeout', degraded: true, severity: 'degraded' },
  cost: { costUsd: 0.42, totalTokens: 183000, cacheReadRatio: 0.61 },
  timing: { durationMs: 181200, turnCount: 25 },
  toolStats: { web_fetch: { ok: 11, failed: 1, topErrorKind: 'timeout' } },
  failures: [
    {
      seq: 118,
      toolName: 'web_fetch',
      classifiedFailureBy: 'transport',
      transportOk: false,
      errorKind: 'timeout',
      resultDigest: '9f2c1e7ab04d',
      resultBytes: 0,
      errorPreview: 'no answer within 30 s',
    },
  ],
  breakerTimeline: [],
  offloads: [],
  summary: '1 tool failure across 25 turns; endReason=timeout',
  likelyRootCause: { code: 'provider_timeout', detail: 'web_fetch timed out', suggestedNextSteps: advice },
  suggestedNextSteps: advice,
  truncations: [],
  coverage: {
    trajectory: { found: true, records: 240 },
    rollup: { present: true },
    offloads: { pointersResolved: 0, pointersTotal: 0 },
    toolStats: { reconciled: true, rollupSource: 'last-execution', divergentTools: [] },
  },
};
