import { z } from 'zod';
import { Count, Rate, Usd } from '../values/common.ts';
import { RootCause, ToolStats, Truncation } from './explain.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const Finding = z.object({
  code: boundedString(MAX.name),
  detail: boundedString(MAX.line),
  count: Count,
  hint: boundedString(MAX.line),
});

/** Summary of all sessions in a time window, from logged evidence. */
export const FleetHealthReport = z.object({
  schemaVersion: z.literal(1),
  windowHours: z.number().nonnegative(),
  sessions: z.object({ total: Count, degraded: Count, degradedRate: Rate }),
  degradedByCause: z
    .record(boundedString(MAX.name), Count)
    .check(maxKeys(MAX.many))
    .describe('end reasons of degraded sessions; unknown without one'),
  topErrorKinds: z.array(z.object({ kind: boundedString(MAX.name), count: Count })).max(MAX.many),
  breakerTripTotal: Count,
  toolStats: ToolStats,
  cost: z.object({ costUsd: Usd, totalTokens: Count }),
  activity: z.object({
    activeAgents: z.array(boundedString(MAX.name)).max(MAX.all),
    activeChannels: z.array(boundedString(MAX.name)).max(MAX.all),
    exitReasons: z.record(boundedString(MAX.name), Count).check(maxKeys(MAX.many)),
    turnTotal: Count,
    tokenTotal: Count,
  }),
  findings: z.array(Finding).max(MAX.all).describe('counts, codes and hints only; the most frequent first'),
  likelyRootCause: RootCause.nullable(),
  suggestedNextSteps: z.array(boundedString(MAX.line)).max(MAX.many),
  truncations: z.array(Truncation).max(MAX.many),
  coverage: z
    .object({
      sessionSummary: z.object({ found: z.boolean(), rows: Count }),
      sessionIndex: z.object({ daysRead: Count, daysMissing: Count }),
      billing: z.object({ present: z.boolean() }),
    })
    .optional(),
});

const advice = ['Ask obs.explain for one of the sessions that ended with timeout.'];

export const fleetExample = {
  schemaVersion: 1,
  windowHours: 24,
  sessions: { total: 40, degraded: 3, degradedRate: 0.075 },
  degradedByCause: { timeout: 2, unknown: 1 },
  topErrorKinds: [{ kind: 'timeout', count: 4 }],
  breakerTripTotal: 0,
  toolStats: { web_fetch: { ok: 210, failed: 4, topErrorKind: 'timeout' } },
  cost: { costUsd: 3.1, totalTokens: 1840000 },
  activity: {
    activeAgents: ['default', 'researcher'],
    activeChannels: ['gateway', 'telegram'],
    exitReasons: { completed: 37, timeout: 2, error: 1 },
    turnTotal: 512,
    tokenTotal: 1840000,
  },
  findings: [
    {
      code: 'config_posture:served_below_configured',
      detail: '1 provider serves a smaller context window than configured',
      count: 1,
      hint: 'Compare models.list with the local server’s settings.',
    },
  ],
  likelyRootCause: { code: 'fleet_acute_degradation', detail: '2 sessions ended with timeout', suggestedNextSteps: advice },
  suggestedNextSteps: advice,
  truncations: [],
  coverage: {
    sessionSummary: { found: true, rows: 40 },
    sessionIndex: { daysRead: 2, daysMissing: 0 },
    billing: { present: true },
  },
};
